import {
  type ReactElement,
  type ReactNode,
  type UIEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Link } from 'wouter'
import type { Run } from '../../api/client'
import { formatAgo, formatDuration, formatMoney, formatTime, formatValue } from '../../base/format'
import { t } from '../../base/i18n'
import { Cut } from '../../widgets/cut'
import { useSize } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { StateBadge } from '../../widgets/state'
import { type ColumnId, columnValue, columnWidth, isNumeric, type Sort } from './columns'

const ROW_PX = 28
const NAME_PX = 268
const OVERSCAN = 8

interface TableProps {
  project: string
  runs: Run[]
  columns: ColumnId[]
  colours: Map<string, string>
  selected: ReadonlySet<string>
  onSelect: (run: string, on: boolean) => void
  onSelectAll: (on: boolean) => void
  sort: Sort | null
  onSort: (column: ColumnId | 'name') => void
  partial: boolean // there are more runs than rows: sorting covers the rows alone
  current: number
  currency: string
  onEnd: () => void
}

function columnTitle(column: ColumnId): string {
  switch (column) {
    case 'state':
      return t('runs.column_state')
    case 'owner':
      return t('runs.column_owner')
    case 'created':
      return t('runs.column_created')
    case 'duration':
      return t('runs.column_duration')
    case 'cost':
      return t('runs.column_cost')
    case 'tags':
      return t('runs.column_tags')
    default:
      return column.slice(column.indexOf(':') + 1)
  }
}

function endText(run: Run): string | undefined {
  return run.reason || undefined
}

function Cell({
  run,
  column,
  currency,
}: {
  run: Run
  column: ColumnId
  currency: string
}): ReactNode {
  switch (column) {
    case 'state':
      return <StateBadge state={run.state} title={endText(run)} />
    case 'created':
      return <span title={formatTime(run.created_at)}>{formatAgo(run.created_at)}</span>
    case 'duration':
      return run.started_at ? formatDuration(run.duration_ms) : '–'
    case 'cost':
      return formatMoney(run.cost_micro, currency)
    case 'tags':
      return run.tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))
    default: {
      const value = columnValue(run, column)
      return value === undefined ? <span className="muted">–</span> : formatValue(value)
    }
  }
}

function Head(props: TableProps & { template: string }): ReactElement {
  const all = props.runs.length > 0 && props.runs.every((run) => props.selected.has(run.id))
  const sortOf = (column: ColumnId | 'name'): 'ascending' | 'descending' | 'none' =>
    props.sort?.column === column ? (props.sort.down ? 'descending' : 'ascending') : 'none'
  const hint = props.partial ? ` ${t('runs.sort_loaded', { n: props.runs.length })}` : ''
  const title = (column: ColumnId | 'name', text: string): ReactElement => (
    <button
      type="button"
      className="grid-sort"
      title={t('runs.sort_by', { column: text }) + hint}
      onClick={() => props.onSort(column)}
    >
      <span className="grid-title">{text}</span>
      {sortOf(column) !== 'none' && <Icon name={props.sort?.down ? 'down' : 'up'} size={12} />}
    </button>
  )
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
          checked={all}
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
          {title(column, columnTitle(column))}
        </div>
      ))}
    </div>
  )
}

function Row(props: TableProps & { run: Run; index: number; template: string }): ReactElement {
  const { run, index } = props
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
          <Cell run={run} column={column} currency={props.currency} />
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
  const widths = props.columns.map((column) => `minmax(${columnWidth(column)}px, 1fr)`)
  const template = `${NAME_PX}px ${widths.join(' ')}`
  const width = NAME_PX + props.columns.reduce((sum, column) => sum + columnWidth(column), 0)
  const first = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN)
  const last = Math.min(props.runs.length, first + Math.ceil(size.height / ROW_PX) + 2 * OVERSCAN)
  const { current } = props
  useLayoutEffect(() => {
    const element = box.current
    if (!element || current < 0) return
    const at = current * ROW_PX
    const inside = element.clientHeight - ROW_PX
    if (at < element.scrollTop) element.scrollTop = at
    else if (at + ROW_PX > element.scrollTop + inside) element.scrollTop = at + ROW_PX - inside
  }, [current])
  const onScroll = (event: UIEvent<HTMLDivElement>): void => {
    const element = event.currentTarget
    setTop(element.scrollTop)
    if (element.scrollTop + element.clientHeight * 3 > element.scrollHeight) props.onEnd()
  }
  return (
    <div
      className="grid"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role="grid"
      aria-label={t('runs.title')}
      aria-rowcount={props.runs.length + 1}
      aria-colcount={props.columns.length + 1}
      aria-multiselectable="true"
    >
      <div className="grid-inner" role="rowgroup" style={{ minWidth: width }}>
        <Head {...props} template={template} />
        <div
          className="grid-rows"
          role="presentation"
          style={{ height: props.runs.length * ROW_PX }}
        >
          {props.runs.slice(first, last).map((run, i) => (
            <Row key={run.id} {...props} run={run} index={first + i} template={template} />
          ))}
        </div>
      </div>
    </div>
  )
}
