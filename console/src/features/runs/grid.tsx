import { type ReactElement, useMemo } from 'react'
import { useLocation } from 'wouter'
import type { RunsQuestion } from '../../api/queries'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Empty, Failure, Loading } from '../../widgets/empty'
import { useShortcuts } from '../../widgets/hooks'
import { useRowsAt } from '../../widgets/rows'
import { useBest } from './best'
import { type ColumnId, figuredColumns, type Sort } from './columns'
import { RunsTable } from './table'
import { type RunsWindow, useRunsWindow } from './window'

const SELECT_MAX = 100 // what charts draw; more would not fit an address either

export interface GridProps {
  project: string
  columns: ColumnId[]
  colours: Map<string, string>
  selected: ReadonlySet<string>
  onSelect: (run: string, on: boolean) => void
  onSelectMany: (runs: string[]) => void
  sort: Sort | null
  onSort: (column: ColumnId | 'name') => void
  currency: string
  onClear: () => void // of the filter
}

/** The rows of a window, with the keys that walk them. */
export function RunsGrid(
  props: GridProps & { rows: RunsWindow; question: RunsQuestion },
): ReactElement {
  const { rows, selected, project } = props
  const [, navigate] = useLocation()
  const best = useBest(project, props.question, rows)
  const figured = useMemo(() => figuredColumns(rows.first), [rows.first])
  const [current, setCurrent] = useRowsAt(rows.total, (at) => {
    const run = rows.rowAt(at)?.run
    if (run) navigate(`/p/${project}/r/${run.id}/overview`)
  })
  useShortcuts({
    x: () => {
      const run = rows.rowAt(current)?.run
      if (run) props.onSelect(run.id, !selected.has(run.id))
    },
  })
  const top = useMemo(() => rows.first.slice(0, SELECT_MAX).map((row) => row.run.id), [rows.first])
  if (rows.total === 0) {
    return (
      <Empty text={t('runs.empty_filter')}>
        {rows.warnings.map((warning) => (
          <p key={warning} className="empty-hint">
            {warning}
          </p>
        ))}
        <Button onClick={props.onClear}>{t('runs.clear_filter')}</Button>
      </Empty>
    )
  }
  return (
    <RunsTable
      {...props}
      total={rows.total}
      rowAt={rows.rowAt}
      onRange={rows.show}
      allSelected={top.length > 0 && top.every((id) => selected.has(id))}
      onSelectAll={(on) => props.onSelectMany(on ? top : [])}
      current={current}
      onCurrent={setCurrent}
      best={best}
      figured={figured}
    />
  )
}

/** A grid with a window of its own: the rows of a group. */
export function GroupGrid(props: GridProps & { question: RunsQuestion }): ReactElement {
  const rows = useRunsWindow(props.project, props.question)
  if (rows.error && !rows.isKnown) return <Failure error={rows.error} onRetry={rows.retry} />
  if (!rows.isKnown) return <Loading />
  return <RunsGrid {...props} rows={rows} />
}
