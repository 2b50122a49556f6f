import { lazy, type ReactElement, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import type { Run } from '../../api/client'
import { useRuns, useServer } from '../../api/queries'
import { coloursFor } from '../../base/colours'
import { t, tName } from '../../base/i18n'
import { isTextList, remember, rememberedJson } from '../../base/store'
import { compareValues } from '../../base/values'
import { AlertButton } from '../../widgets/alerts'
import { Button, Segments } from '../../widgets/button'
import { Command, Empty, Failure, Loading } from '../../widgets/empty'
import { SearchField, Select } from '../../widgets/field'
import { useDark, useRested, useShortcuts, useTitle, useViewParam } from '../../widgets/hooks'
import { useRows } from '../../widgets/rows'
import {
  type ColumnId,
  columnValue,
  defaultColumns,
  isColumn,
  type Sort,
  sortParse,
} from './columns'
import { ColumnPicker } from './picker'
import { RunsTable } from './table'

// The table alone is the first view: charts come when they are opened.
const Charts = lazy(async () => ({ default: (await import('./charts')).Charts }))

const NEWEST = 10
const CHARTED_MAX = 100
const AUTO_LOAD_MAX = 2000
const STATES = ['running', 'finished', 'failed', 'crashed', 'killed', 'preempted', 'pending']
const VIEWS = ['table', 'split', 'charts'] as const
type View = (typeof VIEWS)[number]

function useColumns(project: string, runs: Run[]) {
  const [inUrl, setInUrl] = useViewParam('cols', '')
  const kept = useMemo(() => rememberedJson(`cols.${project}`, isTextList), [project])
  const fallback = useMemo(() => defaultColumns(runs), [runs])
  const wanted = inUrl ? inUrl.split(',') : kept
  const chosen = wanted?.filter(isColumn)
  const set = (columns: ColumnId[] | null): void => {
    remember(`cols.${project}`, columns && JSON.stringify(columns))
    setInUrl(columns ? columns.join(',') : '')
  }
  return { columns: chosen && chosen.length > 0 ? chosen : fallback, set }
}

function sorted(runs: Run[], sort: Sort | null): Run[] {
  if (!sort) return runs
  const value = (run: Run): unknown =>
    sort.column === 'name' ? run.name : columnValue(run, sort.column)
  const way = sort.down ? -1 : 1
  return [...runs].sort((a, b) => {
    const [x, y] = [value(a), value(b)]
    const missing = (v: unknown): boolean => v === undefined || v === null
    return missing(x) || missing(y) ? compareValues(x, y) : way * compareValues(x, y)
  })
}

function useSelection() {
  const [text, setText] = useViewParam('sel', '')
  const selected = useMemo(() => new Set(text ? text.split(',') : []), [text])
  const set = useCallback((ids: Iterable<string>) => setText([...ids].join(',')), [setText])
  const toggle = useCallback(
    (id: string, on: boolean) => {
      const next = new Set(selected)
      if (on) next.add(id)
      else next.delete(id)
      set(next)
    },
    [selected, set],
  )
  return { selected, set, toggle }
}

function useAllRuns(project: string, search: string, state: string) {
  const asked = useRuns(project, { search, state })
  const runs = useMemo(() => asked.data?.pages.flatMap((page) => page.items) ?? [], [asked.data])
  const { hasNextPage, isFetching, fetchNextPage } = asked
  useEffect(() => {
    if (hasNextPage && !isFetching && runs.length < AUTO_LOAD_MAX) void fetchNextPage()
  }, [hasNextPage, isFetching, fetchNextPage, runs.length])
  const more = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
  }, [hasNextPage, isFetching, fetchNextPage])
  return { asked, runs, more, whole: !hasNextPage }
}

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

function useRunsView(project: string) {
  const [search, setSearch] = useViewParam('q', '')
  const [state, setState] = useViewParam('state', '')
  const [sortText, setSortText] = useViewParam('sort', '')
  const [viewText, setViewText] = useViewParam('view', 'table', 'push')
  const view: View = VIEWS.find((known) => known === viewText) ?? 'table'
  const rested = useRested(search)
  const loaded = useAllRuns(project, rested, STATES.includes(state) ? state : '')
  const sort = useMemo(() => sortParse(sortText), [sortText])
  const runs = useMemo(() => sorted(loaded.runs, sort), [loaded.runs, sort])
  const onSort = (column: ColumnId | 'name'): void => {
    // Numbers are most often wanted from the top: first click down, second up, third off.
    if (sort?.column !== column) setSortText(`-${column}`)
    else setSortText(sort.down ? column : '')
  }
  return { search, setSearch, state, setState, view, setViewText, loaded, sort, runs, onSort }
}

export function RunsPage({ project }: { project: string }): ReactElement {
  const server = useServer()
  const [, navigate] = useLocation()
  const dark = useDark()
  const view = useRunsView(project)
  const { runs, loaded } = view
  const { columns, set: setColumns } = useColumns(project, loaded.runs)
  const { selected, set, toggle } = useSelection()
  const [atEnd, setAtEnd] = useState(0)
  useTitle(`${t('runs.title')} · ${project}`)

  const charted = useMemo(() => {
    const chosen = runs.filter((run) => selected.has(run.id))
    return chosen.length > 0 ? chosen.slice(0, CHARTED_MAX) : loaded.runs.slice(0, NEWEST)
  }, [runs, loaded.runs, selected])
  const colours = useMemo(
    () =>
      coloursFor(
        charted.map((run) => run.id),
        dark,
      ),
    [charted, dark],
  )
  const current = useRows(runs.length, (at) => {
    const run = runs[at]
    if (run) navigate(`/p/${project}/r/${run.id}/overview`)
  })
  useShortcuts({
    t: () => view.setViewText(VIEWS[(VIEWS.indexOf(view.view) + 1) % VIEWS.length] as string),
    x: () => {
      const run = runs[current]
      if (run) toggle(run.id, !selected.has(run.id))
    },
    d: () => selected.size > 0 && view.setViewText('charts'),
  })
  useEffect(() => {
    if (atEnd > 0) loaded.more()
  }, [atEnd, loaded.more])

  const filtered = view.search !== '' || view.state !== ''
  if (loaded.asked.error && !loaded.asked.data) {
    return <Failure error={loaded.asked.error} whole onRetry={() => void loaded.asked.refetch()} />
  }
  if (!loaded.asked.data) return <Loading />
  if (runs.length === 0 && !filtered) {
    return (
      <div className="page">
        <NoRuns project={project} />
      </div>
    )
  }
  return (
    <div className="page page-fixed">
      <header className="page-head">
        <h1>{t('runs.title')}</h1>
        <SearchField
          label={t('runs.filter')}
          value={view.search}
          onChange={view.setSearch}
          data-filter=""
        />
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
          {t('runs.count', { n: runs.length })}
          {!loaded.whole && '…'}
          {!loaded.whole && view.sort && ` ${t('runs.sort_loaded', { n: runs.length })}`}
        </span>
        {selected.size > 0 && (
          <span className="selection">
            {t('runs.selected', { n: selected.size })}
            <Button kind="quiet" icon="close" onClick={() => set([])}>
              {t('runs.clear_selection')}
            </Button>
          </span>
        )}
        <span className="spring" />
        <AlertButton project={project} />
        <ColumnPicker runs={loaded.runs} columns={columns} onChange={setColumns} />
        <Segments
          label={t('runs.view')}
          value={view.view}
          onChange={view.setViewText}
          choices={[
            { value: 'table', label: t('runs.view_table'), icon: 'table' },
            { value: 'split', label: t('runs.view_split'), icon: 'split' },
            { value: 'charts', label: t('runs.view_charts'), icon: 'chart' },
          ]}
        />
      </header>
      <div className={`runs runs-${view.view}`}>
        {view.view !== 'charts' &&
          (runs.length === 0 ? (
            <Empty text={t('runs.empty_filter')}>
              <Button
                onClick={() => {
                  view.setSearch('')
                  view.setState('')
                }}
              >
                {t('runs.clear_filter')}
              </Button>
            </Empty>
          ) : (
            <RunsTable
              project={project}
              runs={runs}
              columns={columns}
              colours={colours}
              selected={selected}
              onSelect={toggle}
              onSelectAll={(on) => set(on ? runs.map((run) => run.id) : [])}
              sort={view.sort}
              onSort={view.onSort}
              partial={!loaded.whole}
              current={current}
              currency={server.data?.currency ?? 'EUR'}
              onEnd={() => setAtEnd((before) => before + 1)}
            />
          ))}
        {view.view !== 'table' && charted.length > 0 && (
          <Suspense fallback={<Loading />}>
            <Charts project={project} runs={charted} selected={selected.size > 0} />
          </Suspense>
        )}
      </div>
    </div>
  )
}
