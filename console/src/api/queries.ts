// Every question the console asks, as hooks with stable keys, and what a live event makes stale.
import {
  keepPreviousData,
  type QueryClient,
  type UseQueryResult,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import { newId } from '../base/ids'
import {
  type AccessKey,
  type Agent,
  type Alert,
  ApiError,
  ask,
  type Budget,
  type BudgetPeriod,
  client,
  type Diff,
  type Job,
  type JobEvent,
  type JobForecast,
  type JobState,
  type JobWhy,
  type MachineNode,
  type Me,
  type Metric,
  type NodeSamples,
  type NodeSums,
  type Project,
  type Queue,
  type Run,
  type RunColumn,
  type RunDetail,
  type RunGroups,
  type RunPage,
  type Secret,
  type Server,
  type Share,
  type Target,
  type Writer,
} from './client'
import { type MetricColumns, readColumns } from './columns'
import type { LiveEvent } from './live'
import { metricsJoin, type SharedMetric } from './metrics'

const PAGE = 200

export type Asked<T> = UseQueryResult<T, ApiError>

/** Wrong rights and missing things do not get better by asking again. */
export function shouldRetry(count: number, error: Error): boolean {
  if (error instanceof ApiError && error.status >= 400 && error.status < 500) return false
  return count < 2
}

export const useServer = (): Asked<Server> =>
  useQuery({
    queryKey: ['server'],
    queryFn: () => ask(client.GET('/api/v1/server')),
    staleTime: 300_000,
  })

export const useMe = (): Asked<Me> =>
  useQuery({ queryKey: ['me'], queryFn: () => ask(client.GET('/api/v1/me')), staleTime: 300_000 })

export const useProjects = (): Asked<Project[]> =>
  useQuery({
    queryKey: ['projects'],
    queryFn: async () => {
      const query = { limit: 1000 }
      return (await ask(client.GET('/api/v1/projects', { params: { query } }))).items
    },
  })

export interface RunSearch {
  search: string
  state: string
}

/** Pages of runs, newest first; `fetchNextPage` until there is no more. */
export function useRuns(project: string, filter: RunSearch) {
  return useInfiniteQuery<{ items: Run[]; next_cursor: string | null }, ApiError>({
    queryKey: ['runs', project, filter],
    initialPageParam: '',
    queryFn: ({ pageParam }) => {
      const query = {
        limit: PAGE,
        ...(pageParam ? { cursor: String(pageParam) } : {}),
        ...(filter.search ? { search: filter.search } : {}),
        ...(filter.state ? { state: filter.state as Run['state'] } : {}),
      }
      const params = { path: { project }, query }
      return ask(client.GET('/api/v1/projects/{project}/runs', { params }))
    },
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

/** Which runs of a project. */
export interface RunsFind {
  filter: string
  search: string
  state: string
}

/** Which rows of the runs table: which runs, in which order, with which values. */
export interface RunsQuestion {
  find: RunsFind
  sort: string // '' newest first
  columns: string[]
}

const findQuery = (find: RunsFind) => ({
  ...(find.filter ? { filter: find.filter } : {}),
  ...(find.search ? { search: find.search } : {}),
  ...(find.state ? { state: find.state as Run['state'] } : {}),
})

function runBlock(project: string, asked: RunsQuestion, skip: number, limit: number) {
  const query = {
    ...findQuery(asked.find),
    limit,
    ...(skip > 0 ? { skip } : {}),
    ...(asked.sort ? { sort: asked.sort } : {}),
    // Without a column the documents of every run would come.
    columns: asked.columns.length > 0 ? asked.columns.join(',') : 'state',
  }
  const params = { path: { project }, query }
  return ask(client.GET('/api/v1/projects/{project}/runs', { params }))
}

/** Blocks of rows, as many as are in sight. */
export const useRunBlocks = (
  project: string,
  asked: RunsQuestion,
  blocks: number[],
  size: number,
): UseQueryResult<RunPage, Error>[] =>
  useQueries({
    queries: blocks.map((block) => ({
      queryKey: ['runs', project, asked, block],
      queryFn: () => runBlock(project, asked, block * size, size),
    })),
  })

/** How many runs there are of these. */
export const useRunCount = (project: string, find: RunsFind, enabled: boolean): Asked<number> =>
  useQuery({
    queryKey: ['runs', project, 'count', find],
    enabled,
    queryFn: async () => (await runBlock(project, { find, sort: '', columns: [] }, 0, 1)).total,
  })

/** The first value of each of these orders ("-summary.acc"): the best one there is. */
export const useFirstValues = (project: string, find: RunsFind, sorts: string[]): unknown[] =>
  useQueries({
    queries: sorts.map((sort) => ({
      queryKey: ['runs', project, 'first', find, sort],
      placeholderData: keepPreviousData,
      queryFn: async () => {
        const asked = { find, sort, columns: [sort.replace(/^-/, '')] }
        return (await runBlock(project, asked, 0, 1)).items[0]?.values?.[0] ?? null
      },
    })),
    combine: (answers) => answers.map((answer) => answer.data ?? null),
  })

/** The runs with these ids that are still there. */
export const useRunsOf = (project: string, ids: string[]): Asked<Run[]> =>
  useQuery({
    queryKey: ['runs', project, 'ids', ids],
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const find = { filter: `id in (${ids.join(', ')})`, search: '', state: '' }
      return (await runBlock(project, { find, sort: '', columns: [] }, 0, 1000)).items
    },
  })

export const useRunGroups = (project: string, find: RunsFind, by: string[]): Asked<RunGroups> =>
  useQuery({
    queryKey: ['runs', project, 'groups', find, by],
    enabled: by.length > 0,
    placeholderData: keepPreviousData,
    queryFn: () => {
      const query = { ...findQuery(find), by: by.join(',') }
      const params = { path: { project }, query }
      return ask(client.GET('/api/v1/projects/{project}/run-groups', { params }))
    },
  })

/** The keys of a project's runs, most useful first; `search`: part of the name. */
export const useRunColumns = (
  project: string,
  search: string,
  enabled = true,
): Asked<RunColumn[]> =>
  useQuery({
    queryKey: ['run-columns', project, search],
    enabled,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const params = { path: { project }, query: search ? { search } : {} }
      return (await ask(client.GET('/api/v1/projects/{project}/run-columns', { params }))).items
    },
  })

export const useRun = (run: string): Asked<RunDetail> =>
  useQuery({
    queryKey: ['run', run],
    enabled: run !== '',
    queryFn: () => ask(client.GET('/api/v1/runs/{run}', { params: { path: { run } } })),
  })

/** The processes that wrote the run. */
export const useWriters = (run: string): Asked<Writer[]> =>
  useQuery({
    queryKey: ['run', run, 'writers'],
    queryFn: async () =>
      (await ask(client.GET('/api/v1/runs/{run}/writers', { params: { path: { run } } }))).items,
  })

/** The newest alerts of a run, or of a whole project. */
export const useAlerts = (of: { run: string } | { project: string }): Asked<Alert[]> =>
  useQuery({
    queryKey: 'run' in of ? ['alerts', of.run] : ['alerts', 'project', of.project],
    queryFn: async () => {
      const query = { limit: 100 }
      if ('run' in of) {
        const params = { path: { run: of.run }, query }
        return (await ask(client.GET('/api/v1/runs/{run}/alerts', { params }))).items
      }
      const params = { path: { project: of.project }, query }
      return (await ask(client.GET('/api/v1/projects/{project}/alerts', { params }))).items
    },
  })

export const useDiff = (run: string, enabled: boolean): Asked<Diff> =>
  useQuery({
    queryKey: ['diff', run],
    enabled,
    queryFn: () => ask(client.GET('/api/v1/runs/{run}/diff', { params: { path: { run } } })),
  })

export type MetricKind = 'metric' | 'system'

async function metricsOfRun(run: string, kind: MetricKind): Promise<Metric[]> {
  const found: Metric[] = []
  let cursor = ''
  do {
    const query = { kind, limit: 1000, ...(cursor ? { cursor } : {}) }
    const params = { path: { run }, query }
    const page = await ask(client.GET('/api/v1/runs/{run}/metrics', { params }))
    found.push(...page.items)
    cursor = page.next_cursor ?? ''
  } while (cursor && found.length < 5000)
  return found
}

/** The metrics that any of the runs has, sorted by name. */
export const useMetrics = (runs: string[], kind: MetricKind): Asked<SharedMetric[]> =>
  useQuery({
    queryKey: ['metrics', kind, ...runs],
    enabled: runs.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async () =>
      metricsJoin(await Promise.all(runs.slice(0, 20).map((run) => metricsOfRun(run, kind)))),
  })

export type XAxis = 'step' | 'time' | 'relative'

export interface SeriesQuery {
  project: string
  runs: string[]
  metric: string
  x: XAxis
  xMetric: string // instead of x, where it is not empty
  from: number | null
  to: number | null
  buckets: number
  by: SeriesBy
  hidden: boolean // also what was set aside
}

export type SeriesBy = '' | 'rank' | 'host'

export const useSeries = (query: SeriesQuery, enabled: boolean): Asked<MetricColumns[]> =>
  useQuery({
    queryKey: ['series', query.runs, query],
    enabled: enabled && query.runs.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const answer = await ask(
        client.POST('/api/v1/projects/{project}/metrics/query', {
          params: { path: { project: query.project } },
          body: {
            runs: query.runs,
            metrics: [query.metric],
            ...(query.xMetric ? { x: 'metric', x_metric: query.xMetric } : { x: query.x }),
            buckets: query.buckets,
            format: 'columns',
            ...(query.by ? { by: query.by } : {}),
            ...(query.hidden ? { hidden: true } : {}),
            ...(query.from === null ? {} : { from: query.from }),
            ...(query.to === null ? {} : { to: query.to }),
          },
          parseAs: 'arrayBuffer',
        }),
      )
      return readColumns(answer)
    },
  })

interface JobsQuery {
  open?: boolean
  fold?: boolean
  order?: 'rank'
  project?: string
  state?: JobState
}

const jobPage = (query: JobsQuery) =>
  ask(client.GET('/api/v1/jobs', { params: { query: { ...query, limit: PAGE } } }))

/** Jobs of a queue page: those that wait next, those that run, the newest that have ended. */
export interface JobsShown {
  items: Job[]
  more: boolean // open ones beyond these
}

// Asked for one by one where so many wait that they fill the first page.
const BEHIND: JobState[] = [
  'claimed',
  'starting',
  'running',
  'stopping',
  'succeeded',
  'failed',
  'cancelled',
]

/** A line for each array, and one for each other job. */
async function jobsShown(project: string): Promise<JobsShown> {
  const where = project ? { project } : {}
  const [open, first] = await Promise.all([
    jobPage({ ...where, open: true, fold: true }),
    jobPage({ ...where, order: 'rank', fold: true }),
  ])
  const more = open.next_cursor !== null
  const rest = more
    ? BEHIND.map((state) => jobPage({ ...where, state }))
    : [jobPage({ ...where, fold: true })]
  // Of many that wait the next ones are shown, not the newest.
  const behind = more && first.items.length > 0
  const rested = behind ? open.items.filter((job) => !job.waiting?.rank) : open.items
  const found = new Map<string, Job>()
  const add = (job: Job): void => {
    const line = job.array ? job.array.id : job.id
    if (!found.has(line) && !found.has(job.id)) found.set(job.array?.states ? line : job.id, job)
  }
  for (const job of [...(behind ? first.items : []), ...rested]) add(job)
  for (const page of await Promise.all(rest)) page.items.forEach(add)
  return { items: [...found.values()], more }
}

/** The jobs of an array, first to last, a page at a time. */
export const useArray = (array: string, enabled: boolean) =>
  useInfiniteQuery<{ items: Job[]; next_cursor: string | null }, ApiError>({
    queryKey: ['jobs', 'array', array],
    enabled,
    initialPageParam: '',
    queryFn: ({ pageParam }) => {
      const cursor = pageParam ? { cursor: String(pageParam) } : {}
      return ask(
        client.GET('/api/v1/jobs', { params: { query: { array, limit: PAGE, ...cursor } } }),
      )
    },
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })

export const useJobs = (project: string, enabled = true): Asked<JobsShown> =>
  useQuery({
    queryKey: ['jobs', project],
    enabled,
    placeholderData: keepPreviousData,
    queryFn: () => jobsShown(project),
  })

export const useJob = (job: string): Asked<Job> =>
  useQuery({
    queryKey: ['job', job],
    enabled: job !== '',
    queryFn: () => ask(client.GET('/api/v1/jobs/{job}', { params: { path: { job } } })),
  })

export const useJobEvents = (job: string): Asked<JobEvent[]> =>
  useQuery({
    queryKey: ['job', job, 'events'],
    enabled: job !== '',
    queryFn: async () => {
      const params = { path: { job }, query: { limit: 1000 } }
      return (await ask(client.GET('/api/v1/jobs/{job}/events', { params }))).items
    },
  })

/** Why a job waits: asked again while it is looked at, at most every 5 s, whatever happens. */
export const useWhy = (job: string, enabled: boolean): Asked<JobWhy> =>
  useQuery({
    queryKey: ['why', job],
    enabled,
    staleTime: 5000,
    refetchInterval: 5000,
    queryFn: () => ask(client.GET('/api/v1/jobs/{job}/why', { params: { path: { job } } })),
  })

/** What another priority would make of a waiting job; null: its priority does not matter. */
export const usePriorityForecast = (
  job: string,
  priority: number,
  enabled: boolean,
): Asked<JobForecast | null> =>
  useQuery({
    queryKey: ['why', job, priority],
    enabled,
    staleTime: 5000,
    queryFn: async () => {
      const params = { path: { job }, query: { priority } }
      return (await ask(client.GET('/api/v1/jobs/{job}/why', { params }))).forecast ?? null
    },
  })

/** When a job that is not submitted yet might start; `body` is a submission as text. */
export const useForecast = (project: string, body: string): Asked<JobForecast> =>
  useQuery({
    queryKey: ['forecast', project, body],
    enabled: project !== '' && body !== '',
    staleTime: 5000,
    queryFn: () => {
      const params = { path: { project } }
      const whole = { ...JSON.parse(body), run: newId('r') }
      return ask(client.POST('/api/v1/projects/{project}/jobs/forecast', { params, body: whole }))
    },
  })

interface Page<T> {
  items: T[]
  next_cursor: string | null
}

const PAGES_MAX = 20

/** All there is of a list that is not longer than what people make by hand. */
async function everyPage<T>(page: (cursor: string) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = []
  let cursor = ''
  for (let i = 0; i < PAGES_MAX; i++) {
    const next = await page(cursor)
    found.push(...next.items)
    if (!next.next_cursor) break
    cursor = next.next_cursor
  }
  return found
}

const pageQuery = (cursor: string) => ({ limit: 1000, ...(cursor ? { cursor } : {}) })

export const useQueues = (): Asked<Queue[]> =>
  useQuery({
    queryKey: ['queues'],
    queryFn: () =>
      everyPage((cursor) =>
        ask(client.GET('/api/v1/queues', { params: { query: pageQuery(cursor) } })),
      ),
  })

/** The tree of shares, each node after the one above it. */
export const useShares = (): Asked<Share[]> =>
  useQuery({
    queryKey: ['shares'],
    queryFn: () =>
      everyPage((cursor) =>
        ask(client.GET('/api/v1/shares', { params: { query: pageQuery(cursor) } })),
      ),
  })

export const useBudget = (project: string): Asked<Budget> =>
  useQuery({
    queryKey: ['budget', project],
    enabled: project !== '',
    refetchInterval: 60_000, // it is charged as time goes by, without an event
    queryFn: () =>
      ask(client.GET('/api/v1/projects/{project}/budget', { params: { path: { project } } })),
  })

/** The months in which something was used, newest first. */
export const useBudgetPeriods = (project: string): Asked<BudgetPeriod[]> =>
  useQuery({
    queryKey: ['budget', project, 'periods'],
    queryFn: async () => {
      const params = { path: { project }, query: { limit: 24 } }
      return (await ask(client.GET('/api/v1/projects/{project}/budget/periods', { params }))).items
    },
  })

export const useSecrets = (project: string): Asked<Secret[]> =>
  useQuery({
    queryKey: ['secrets', project],
    enabled: project !== '',
    queryFn: () =>
      everyPage((cursor) => {
        const params = { path: { project }, query: pageQuery(cursor) }
        return ask(client.GET('/api/v1/projects/{project}/secrets', { params }))
      }),
  })

export const useAgents = (): Asked<Agent[]> =>
  useQuery({
    queryKey: ['agents'],
    refetchInterval: 15_000, // capacity changes without an event
    queryFn: async () =>
      (await ask(client.GET('/api/v1/agents', { params: { query: { limit: 1000 } } }))).items,
  })

export const useTargets = (): Asked<Target[]> =>
  useQuery({
    queryKey: ['targets'],
    refetchInterval: 15_000,
    queryFn: async () =>
      (await ask(client.GET('/api/v1/targets', { params: { query: { limit: 1000 } } }))).items,
  })

export const useKeys = (): Asked<AccessKey[]> =>
  useQuery({
    queryKey: ['keys'],
    queryFn: async () =>
      (await ask(client.GET('/api/v1/keys', { params: { query: { limit: 1000 } } }))).items,
  })

/** The keys that an event makes stale: questions on screen are asked again, others later. */
export function staleKeys(event: LiveEvent): unknown[][] {
  switch (event.kind) {
    case 'run':
      return [
        ['run', event.id],
        ['runs', event.project],
        ['run-columns', event.project],
        ['projects'],
      ]
    case 'job':
      return [['job', event.id], ['jobs'], ['targets'], ['agents'], ['shares'], ['queues']]
    case 'metrics':
      return [
        ['metrics', 'metric', event.id],
        ['metrics', 'system', event.id],
        ['series', event.id],
        ['run', event.id],
      ]
    case 'console':
      return [['run', event.id]]
    case 'alert':
      return [
        ['alerts', event.id],
        ['alerts', 'project', event.project],
      ]
    case 'agent':
      return [['agents'], ['targets'], ['nodes']]
    case 'refresh':
      return [[]]
  }
}

function touches(queryKey: readonly unknown[], stale: unknown[]): boolean {
  // A chart of several runs holds them in a list: any of them counts.
  return stale.every((part, i) => {
    const have = queryKey[i]
    if (Array.isArray(have)) return have.includes(part)
    if (queryKey[0] === 'metrics' && i === 2) return queryKey.slice(2).includes(part)
    return have === part
  })
}

/** Collects events and refreshes at most once in `waitMs`, so that a fast run costs no more. */
export function liveRefresher(queries: QueryClient, waitMs = 1000): (event: LiveEvent) => void {
  const waiting = new Map<string, unknown[]>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    timer = undefined
    const stale = [...waiting.values()]
    waiting.clear()
    void queries.invalidateQueries({
      predicate: (query) => stale.some((key) => touches(query.queryKey, key)),
    })
  }
  return (event) => {
    for (const key of staleKeys(event)) waiting.set(JSON.stringify(key), key)
    if (timer === undefined) timer = setTimeout(flush, waitMs)
  }
}

export interface Nodes {
  items: MachineNode[]
  sums: NodeSums
}

/** All machines of a target; the first page has the sums over all. */
async function nodesOf(target: string): Promise<Nodes> {
  const found: { sums: NodeSums | undefined } = { sums: undefined }
  const items = await everyPage(async (cursor) => {
    const params = { path: { target }, query: pageQuery(cursor) }
    const page = await ask(client.GET('/api/v1/targets/{target}/nodes', { params }))
    found.sums ??= page.sums
    return page
  })
  if (!found.sums) throw new Error('the list of machines has no sums')
  return { items, sums: found.sums }
}

export const useNodes = (target: string): Asked<Nodes> =>
  useQuery({
    queryKey: ['nodes', target],
    enabled: target !== '',
    refetchInterval: 10_000, // readings come without an event
    queryFn: () => nodesOf(target),
  })

export type NodeRange = '1h' | '24h' | '7d'

const RANGE_MS: Record<NodeRange, number> = { '1h': 3.6e6, '24h': 8.64e7, '7d': 6.048e8 }

export const useNodeSamples = (agent: string, range: NodeRange): Asked<NodeSamples> =>
  useQuery({
    queryKey: ['nodes', 'samples', agent, range],
    refetchInterval: range === '1h' ? 10_000 : 60_000,
    placeholderData: keepPreviousData,
    queryFn: () => {
      const from = new Date(Date.now() - RANGE_MS[range]).toISOString()
      const params = { path: { agent }, query: { from, buckets: 240 } }
      return ask(client.GET('/api/v1/agents/{agent}/samples', { params }))
    },
  })
