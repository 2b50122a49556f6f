import {
  type ReactElement,
  type ReactNode,
  type UIEvent,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Link } from 'wouter'
import type { Run } from '../../api/client'
import { formatAgo, formatDuration, formatMoney, formatTime, formatValue } from '../../base/format'
import { t } from '../../base/i18n'
import { Cut } from '../../widgets/cut'
import { FigureValue } from '../../widgets/figure'
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
  current: number
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

function Head(props: TableProps & { template: string }): ReactElement {
  const sortOf = (column: ColumnId | 'name'): 'ascending' | 'descending' | 'none' =>
    props.sort?.column === column ? (props.sort.down ? 'descending' : 'ascending') : 'none'
  const title = (column: ColumnId | 'name', text: string): ReactElement => {
    if (!isSortable(column)) return <span className="grid-title">{text}</span>
    return (
      <button
        type="button"
        className="grid-sort"
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
        className="grid-cell grid-name"
        role="columnheader"
        aria-colindex={1}
        aria-sort={sortOf('name')}
      >
        <input
          type="checkbox"
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
          className={`grid-cell ${isNumeric(column) ? 'num' : ''}`}
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
function Waiting({ index, template }: { index: number; template: string }): ReactElement {
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
      <div className="grid-cell grid-name" role="gridcell" aria-colindex={1}>
        …
      </div>
    </div>
  )
}

function Row(props: TableProps & { row: RowData; index: number; template: string }): ReactElement {
  const { row, index } = props
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
      <div className="grid-cell grid-name" role="rowheader" aria-colindex={1}>
        <input
          type="checkbox"
          aria-label={t('runs.select', { name: run.name })}
          checked={chosen}
          onChange={(event) => props.onSelect(run.id, event.target.checked)}
        />
        <span
          className={`swatch ${colour ? '' : 'swatch-off'}`}
          style={colour ? { background: colour } : undefined}
        />
        <Link href={`/p/${props.project}/r/${run.id}/overview`} className="row-link">
          <Cut text={run.name} />
        </Link>
      </div>
      {props.columns.map((column, i) => (
        // biome-ignore lint/a11y/useFocusableInteractive: cells are read, not used
        <div
          key={column}
          className={`grid-cell ${isNumeric(column) ? 'num' : ''}`}
          role="gridcell"
          aria-colindex={i + 2}
        >
          <Cell row={row} column={column} currency={props.currency} best={props.best} />
        </div>
      ))}
    </div>
  )
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
  const onScroll = (event: UIEvent<HTMLDivElement>): void => {
    setTop(event.currentTarget.scrollTop)
  }
  return (
    <div
      className="grid"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role="grid"
      aria-label={t('runs.title')}
      aria-rowcount={props.total + 1}
      aria-colcount={props.columns.length + 1}
      aria-multiselectable="true"
    >
      <div className="grid-inner" role="rowgroup" style={{ minWidth: width }}>
        <Head {...props} template={template} />
        <div className="grid-rows" role="presentation" style={{ height: count * ROW_PX }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, i) => {
            const index = first + i
            const row = props.rowAt(index)
            return row ? (
              <Row key={row.run.id} {...props} row={row} index={index} template={template} />
            ) : (
              <Waiting key={index} index={index} template={template} />
            )
          })}
        </div>
      </div>
    </div>
  )
}
