import { lazy, type ReactElement, Suspense, useMemo } from 'react'
import { ApiError } from '../../api/client'
import { type RunsQuestion, useRunsOf, useServer } from '../../api/queries'
import { coloursFor } from '../../base/colours'
import { t, tName } from '../../base/i18n'
import { AlertButton } from '../../widgets/alerts'
import { Button, Segments } from '../../widgets/button'
import { Command, Empty, Failure, Loading } from '../../widgets/empty'
import { Select } from '../../widgets/field'
import { useDark, useShortcuts, useTitle } from '../../widgets/hooks'
import { askedColumns, type ColumnId, withTags } from './columns'
import { FilterField } from './filter'
import { type GridProps, GroupGrid, RunsGrid } from './grid'
import { Groups } from './groups'
import { ColumnPicker, GroupPicker } from './picker'
import { within } from './query'
import { type RunsView, STATES, useColumns, useRunsView, useSelection, VIEWS } from './view'
import { type RunsWindow, useRunsWindow } from './window'

// The table alone is the first view: charts come when they are opened.
const Charts = lazy(async () => ({ default: (await import('./charts')).Charts }))

const FIRST = 10
const CHARTED_MAX = 100

function NoRuns({ project }: { project: string }): ReactElement {
  return (
    <Empty text={t('runs.empty')} hint={t('runs.empty_hint')} whole>
      <Command
        text={[
          'import euvyra',
          '',
          `run = euvyra.init(project="${project}", config={"lr": 0.01})`,
          'run.log({"loss": 0.5})',
        ].join('\n')}
      />
      <Command text={`euvyra launch --project ${project} --wait -- python train.py`} />
    </Empty>
  )
}

/** The runs whose charts are drawn: the selected ones, else the first of the table. */
function useCharted(project: string, rows: RunsWindow, selected: ReadonlySet<string>) {
  const ids = useMemo(() => [...selected].slice(0, CHARTED_MAX), [selected])
  const chosen = useRunsOf(project, ids)
  return useMemo(() => {
    if (ids.length === 0) return rows.first.slice(0, FIRST).map((row) => row.run)
    const wanted = new Set(ids)
    return (chosen.data ?? []).filter((run) => wanted.has(run.id))
  }, [ids, chosen.data, rows.first])
}

interface HeadProps {
  project: string
  view: RunsView
  rows: RunsWindow
  columns: ColumnId[]
  onColumns: (columns: ColumnId[] | null) => void
  selectedCount: number
  onClear: () => void
}

function Head(props: HeadProps): ReactElement {
  const { project, view, rows, selectedCount } = props
  return (
    <header className="page-head">
      <h1>{t('runs.title')}</h1>
      <FilterField project={project} value={view.text} onChange={view.setText} error={rows.error} />
      <Select
        label={t('runs.state_filter')}
        value={view.state}
        onChange={view.setState}
        choices={[
          { value: '', label: t('common.all') },
          ...STATES.map((state) => ({ value: state, label: tName('state', state) })),
        ]}
      />
      <span className="muted" role="status">
        {t('runs.count', { n: rows.total })}
        {!rows.isFresh && '…'}
      </span>
      {selectedCount > 0 && (
        <span className="selection">
          {t('runs.selected', { n: selectedCount })}
          <Button kind="quiet" icon="close" onClick={props.onClear}>
            {t('runs.clear_selection')}
          </Button>
        </span>
      )}
      <span className="spring" />
      <AlertButton project={project} />
      <GroupPicker project={project} by={view.by} onChange={view.setBy} />
      <ColumnPicker project={project} columns={props.columns} onChange={props.onColumns} />
      <Segments
        label={t('runs.view')}
        value={view.view}
        onChange={view.setView}
        choices={[
          { value: 'table', label: t('runs.view_table'), icon: 'table' },
          { value: 'split', label: t('runs.view_split'), icon: 'split' },
          { value: 'charts', label: t('runs.view_charts'), icon: 'chart' },
        ]}
      />
    </header>
  )
}

type RowsProps = GridProps & { view: RunsView; rows: RunsWindow; question: RunsQuestion }

function Rows(props: RowsProps): ReactElement {
  const { view, question } = props
  if (view.by.length === 0) return <RunsGrid {...props} />
  return (
    <Groups
      project={props.project}
      find={view.find}
      by={view.by}
      open={view.open}
      onOpen={view.setOpen}
    >
      {(filter) => (
        <GroupGrid {...props} question={{ ...question, find: within(view.find, filter) }} />
      )}
    </Groups>
  )
}

const isFault = (error: Error | null): boolean =>
  error instanceof ApiError && error.status === 400 && error.field === 'filter'

/** The rows of the page and the columns they show. */
function useTable(project: string, view: RunsView) {
  const { columns: chosen, isDefault, set } = useColumns(project)
  const question = useMemo(
    () => ({ find: view.find, sort: view.sortText, columns: askedColumns(chosen) }),
    [view.find, view.sortText, chosen],
  )
  const rows = useRunsWindow(project, question)
  const columns = useMemo(() => {
    const hasTags = rows.first.some((row) => row.run.tags.length > 0)
    return isDefault && hasTags ? withTags(chosen) : chosen
  }, [isDefault, rows.first, chosen])
  return { question, rows, columns, setColumns: set }
}

export function RunsPage({ project }: { project: string }): ReactElement {
  const server = useServer()
  const dark = useDark()
  const view = useRunsView()
  const { selected, set, toggle } = useSelection()
  const { question, rows, columns, setColumns } = useTable(project, view)
  useTitle(`${t('runs.title')} · ${project}`)

  const charted = useCharted(project, rows, selected)
  const colours = useMemo(
    () =>
      coloursFor(
        charted.map((run) => run.id),
        dark,
      ),
    [charted, dark],
  )
  useShortcuts({
    t: () => view.setView(VIEWS[(VIEWS.indexOf(view.view) + 1) % VIEWS.length] as string),
    d: () => selected.size > 0 && view.setView('charts'),
  })

  const fault = isFault(rows.error)
  if (rows.error && !fault && !rows.isKnown) {
    return <Failure error={rows.error} whole onRetry={rows.retry} />
  }
  if (!rows.isKnown && !fault) return <Loading />
  const filtered = view.text !== '' || view.state !== ''
  if (rows.total === 0 && rows.isFresh && !filtered) {
    return (
      <div className="page">
        <NoRuns project={project} />
      </div>
    )
  }
  return (
    <div className="page page-fixed">
      <Head
        project={project}
        view={view}
        rows={rows}
        columns={columns}
        onColumns={setColumns}
        selectedCount={selected.size}
        onClear={() => set([])}
      />
      <div className={`runs runs-${view.view}`}>
        {view.view !== 'charts' && rows.isKnown && (
          <Rows
            view={view}
            rows={rows}
            question={question}
            project={project}
            columns={columns}
            colours={colours}
            selected={selected}
            onSelect={toggle}
            onSelectMany={set}
            sort={view.sort}
            onSort={view.onSort}
            currency={server.data?.currency ?? 'EUR'}
            onClear={view.clear}
          />
        )}
        {view.view !== 'table' && charted.length > 0 && (
          <Suspense fallback={<Loading />}>
            <Charts project={project} runs={charted} selected={selected.size > 0} />
          </Suspense>
        )}
      </div>
    </div>
  )
}
