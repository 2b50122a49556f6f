import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  type UIEvent,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Link } from 'wouter'
import type { Run } from '../../api/client'
import { formatAgo, formatDuration, formatMoney, formatTime, formatValue } from '../../base/format'
import { t } from '../../base/i18n'
import { Cut } from '../../widgets/cut'
import { FigureValue, figureTitle } from '../../widgets/figure'
import { useSize } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { StateBadge } from '../../widgets/state'
import {
  type ColumnId,
  columnWidth,
  isNumeric,
  isSortable,
  type Row as RowData,
  type Sort,
} from './columns'
import { keyLabel } from './picker'
import { type Place, walk } from './walk'

const ROW_PX = 28
const NAME_PX = 268
const OVERSCAN = 8
const ROWS_MAX = 500_000 // browsers stop at some tens of millions of pixels

interface TableProps {
  project: string
  total: number
  rowAt: (index: number) => RowData | undefined // undefined: it is on its way
  onRange: (first: number, last: number) => void
  columns: ColumnId[]
  colours: Map<string, string>
  selected: ReadonlySet<string>
  allSelected: boolean
  onSelect: (run: string, on: boolean) => void
  onSelectAll: (on: boolean) => void
  sort: Sort | null
  onSort: (column: ColumnId | 'name') => void
  current: number // the row that the keys are at; -1: the heads
  onCurrent: (row: number) => void
  currency: string
  best: ReadonlyMap<string, number> // values of the best run, by column
  figured: ReadonlySet<string> // columns that need room for what their values are
}

function endText(run: Run): string | undefined {
  return run.reason || undefined
}

interface CellProps {
  row: RowData
  column: ColumnId
  currency: string
  best: ReadonlyMap<string, number>
}

function Cell({ row, column, currency, best }: CellProps): ReactNode {
  const { run } = row
  switch (column) {
    case 'state':
      return <StateBadge state={run.state} title={endText(run)} />
    case 'created':
      return <span title={formatTime(run.created_at)}>{formatAgo(run.created_at)}</span>
    case 'runtime':
      return run.started_at ? formatDuration(run.duration_ms) : '–'
    case 'cost':
      return formatMoney(run.cost_micro, currency)
    case 'owner':
    case 'host':
    case 'group':
      return run[column] || '–'
    case 'tags':
      return run.tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))
    default: {
      const value = row.values.get(column) ?? null
      const figure = row.figures.get(column)
      if (value === null) return <span className="muted">–</span>
      if (!figure) return formatValue(value)
      return <FigureValue value={value} figure={figure} best={value === best.get(column)} />
    }
  }
}

/** What a pointer sees in a title, for those who walk by keys. */
function noteOf({ row, column, best }: CellProps): string {
  if (column === 'state') return endText(row.run) ?? ''
  if (column === 'created') return formatTime(row.run.created_at)
  const figure = row.figures.get(column)
  const value = row.values.get(column) ?? null
  return figure && value !== null ? figureTitle(figure, value === best.get(column)) : ''
}

/** What all rows of a grid share. */
interface Part extends TableProps {
  template: string
  place: Place // where the keys are
  cellId: (place: Place) => string
}

const cellClass = (kind: string, active: boolean): string =>
  `grid-cell ${kind} ${active ? 'cell-active' : ''}`

function Head(props: Part): ReactElement {
  const { place, cellId } = props
  const isActive = (column: number): boolean => place.row < 0 && place.column === column
  const sortOf = (column: ColumnId | 'name'): 'ascending' | 'descending' | 'none' =>
    props.sort?.column === column ? (props.sort.down ? 'descending' : 'ascending') : 'none'
  const title = (column: ColumnId | 'name', text: string): ReactElement => {
    if (!isSortable(column)) return <span className="grid-title">{text}</span>
    return (
      <button
        type="button"
        className="grid-sort"
        tabIndex={-1}
        title={t('runs.sort_by', { column: text })}
        onClick={() => props.onSort(column)}
      >
        <span className="grid-title">{text}</span>
        {sortOf(column) !== 'none' && <Icon name={props.sort?.down ? 'down' : 'up'} size={12} />}
      </button>
    )
  }
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: focus lies on the controls inside
    <div
      className="grid-row grid-head"
      role="row"
      aria-rowindex={1}
      style={{ gridTemplateColumns: props.template }}
    >
      {/* biome-ignore lint/a11y/useFocusableInteractive: as above */}
      <div
        id={cellId({ row: -1, column: 0 })}
        className={cellClass('grid-name', isActive(0))}
        role="columnheader"
        aria-colindex={1}
        aria-sort={sortOf('name')}
      >
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t('runs.select_all')}
          checked={props.allSelected}
          onChange={(event) => props.onSelectAll(event.target.checked)}
        />
        {title('name', t('common.name'))}
      </div>
      {props.columns.map((column, i) => (
        // biome-ignore lint/a11y/useFocusableInteractive: as above
        <div
          key={column}
          id={cellId({ row: -1, column: i + 1 })}
          className={cellClass(isNumeric(column) ? 'num' : '', isActive(i + 1))}
          role="columnheader"
          aria-colindex={i + 2}
          aria-sort={sortOf(column)}
        >
          {title(column, keyLabel(column))}
        </div>
      ))}
    </div>
  )
}

/** A row whose block has not come yet. */
function Waiting({ index, ...props }: Part & { index: number }): ReactElement {
  const { template, place } = props
  const active = place.row === index
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: there is nothing in it yet
    <div
      className="grid-row grid-waiting"
      role="row"
      aria-rowindex={index + 2}
      aria-busy="true"
      style={{ gridTemplateColumns: template, top: index * ROW_PX }}
    >
      {/* biome-ignore lint/a11y/useFocusableInteractive: as above */}
      <div
        id={props.cellId({ row: index, column: active ? place.column : 0 })}
        className={cellClass('grid-name', active)}
        role="gridcell"
        aria-colindex={1}
      >
        …
      </div>
    </div>
  )
}

function Row(props: Part & { row: RowData; index: number }): ReactElement {
  const { row, index, place, cellId, currency, best } = props
  const active = place.row === index ? place.column : -1
  const { run } = row
  const chosen = props.selected.has(run.id)
  const colour = props.colours.get(run.id)
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: focus lies on the link and the box inside
    <div
      className={`grid-row ${index === props.current ? 'row-current' : ''} ${chosen ? 'row-chosen' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={chosen}
      style={{ gridTemplateColumns: props.template, top: index * ROW_PX }}
    >
      {/* biome-ignore lint/a11y/useFocusableInteractive: as above */}
      <div
        id={cellId({ row: index, column: 0 })}
        className={cellClass('grid-name', active === 0)}
        role="rowheader"
        aria-colindex={1}
      >
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t('runs.select', { name: run.name })}
          checked={chosen}
          onChange={(event) => props.onSelect(run.id, event.target.checked)}
        />
        <span
          className={`swatch ${colour ? '' : 'swatch-off'}`}
          style={colour ? { background: colour } : undefined}
        />
        <Link href={`/p/${props.project}/r/${run.id}/overview`} className="row-link" tabIndex={-1}>
          <Cut text={run.name} />
        </Link>
      </div>
      {props.columns.map((column, i) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus and names its cell
        <div
          key={column}
          id={cellId({ row: index, column: i + 1 })}
          className={cellClass(isNumeric(column) ? 'num' : '', active === i + 1)}
          role="gridcell"
          aria-colindex={i + 2}
        >
          <Cell row={row} column={column} currency={currency} best={best} />
          {active === i + 1 && <Note text={noteOf({ row, column, currency, best })} />}
        </div>
      ))}
    </div>
  )
}

/** Seen while the keys are here; what is heard is the cell itself. */
function Note({ text }: { text: string }): ReactNode {
  return text ? (
    <span className="cell-note" aria-hidden="true">
      {text}
    </span>
  ) : null
}

/** The keys of a grid: arrows walk, Enter opens or sorts, Space chooses. */
function useWalk(props: TableProps, page: number, focus: () => void) {
  const [at, setColumn] = useState(0)
  const [keys, setKeys] = useState(false) // keys were the last that was used
  const columns = props.columns.length + 1
  const place = { row: props.current, column: Math.min(at, columns - 1) }
  const go = (next: Place): void => {
    setColumn(next.column)
    props.onCurrent(next.row)
  }
  const sort = (): void => {
    const column = place.column === 0 ? 'name' : props.columns[place.column - 1]
    if (column && isSortable(column)) props.onSort(column)
  }
  const choose = (): void => {
    const run = props.rowAt(place.row)?.run
    if (run) props.onSelect(run.id, !props.selected.has(run.id))
    else if (place.row < 0 && place.column === 0) props.onSelectAll(!props.allSelected)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.altKey || event.metaKey || event.shiftKey) return
    const extent = { rows: Math.min(props.total, ROWS_MAX), columns, page }
    const next = walk(place, event.key, event.ctrlKey, extent)
    const isGrid = event.target === event.currentTarget // not a box or link that was clicked
    setKeys(true)
    if (next) {
      focus()
      go(next)
    } else if (isGrid && event.key === ' ') {
      choose()
    } else if (isGrid && event.key === 'Enter' && place.row < 0) {
      sort()
    } else {
      return
    }
    event.preventDefault()
  }
  const onClick = (event: MouseEvent<HTMLElement>): void => {
    const cell = (event.target as Element).closest('[aria-colindex]')
    const row = cell?.closest('[aria-rowindex]')
    setKeys(false)
    if (!cell || !row) return
    const numberOf = (element: Element, name: string) => Number(element.getAttribute(name))
    go({ row: numberOf(row, 'aria-rowindex') - 2, column: numberOf(cell, 'aria-colindex') - 1 })
  }
  return { place, keys, onKeyDown, onClick }
}

/** Runs as a grid: only the rows in sight exist, the name column stays in sight. */
export function RunsTable(props: TableProps): ReactElement {
  const box = useRef<HTMLDivElement>(null)
  const size = useSize(box)
  const [top, setTop] = useState(0)
  const widths = props.columns.map((column) => columnWidth(column, props.figured.has(column)))
  const template = `${NAME_PX}px ${widths.map((px) => `minmax(${px}px, 1fr)`).join(' ')}`
  const width = NAME_PX + widths.reduce((sum, px) => sum + px, 0)
  const count = Math.min(props.total, ROWS_MAX)
  const first = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN)
  const last = Math.min(count, first + Math.ceil(size.height / ROW_PX) + 2 * OVERSCAN)
  const { current, onRange } = props
  const base = useId()
  const cellId = ({ row, column }: Place): string => `${base}-${row}-${column}`
  const page = Math.max(1, Math.floor(size.height / ROW_PX) - 2)
  const { place, keys, onKeyDown, onClick } = useWalk(props, page, () => box.current?.focus())
  const active = cellId(place)
  useEffect(() => {
    if (last > first) onRange(first, last)
  }, [first, last, onRange])
  useLayoutEffect(() => {
    const element = box.current
    if (!element || current < 0) return
    const at = current * ROW_PX
    const inside = element.clientHeight - ROW_PX
    if (at < element.scrollTop) element.scrollTop = at
    else if (at + ROW_PX > element.scrollTop + inside) element.scrollTop = at + ROW_PX - inside
  }, [current])
  useLayoutEffect(() => {
    if (keys)
      document.getElementById(active)?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [keys, active])
  const part: Part = { ...props, template, place, cellId }
  const onScroll = (event: UIEvent<HTMLDivElement>): void => {
    setTop(event.currentTarget.scrollTop)
  }
  return (
    <div
      className={`grid ${keys ? 'grid-keys' : ''}`}
      ref={box}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onScroll={onScroll}
      tabIndex={0}
      role="grid"
      aria-activedescendant={active}
      aria-label={t('runs.title')}
      aria-rowcount={props.total + 1}
      aria-colcount={props.columns.length + 1}
      aria-multiselectable="true"
    >
      <div className="grid-inner" role="rowgroup" style={{ minWidth: width }}>
        <Head {...part} />
        <div className="grid-rows" role="presentation" style={{ height: count * ROW_PX }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, i) => {
            const index = first + i
            const row = props.rowAt(index)
            return row ? (
              <Row key={row.run.id} {...part} row={row} index={index} />
            ) : (
              <Waiting key={index} {...part} index={index} />
            )
          })}
        </div>
      </div>
    </div>
  )
}
