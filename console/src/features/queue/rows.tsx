// The tables of the queue page: jobs that wait, that run, that have ended.
import { type ReactElement, type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { Job, Queue } from '../../api/client'
import { useArray } from '../../api/queries'
import {
  formatAgo,
  formatInteger,
  formatMoment,
  formatMoney,
  formatNumber,
  formatTime,
} from '../../base/format'
import { t } from '../../base/i18n'
import { gpuHours, needOf, needText } from '../../widgets/amount'
import { isArrayLine, lineId, lineName, statesText } from '../../widgets/array'
import { Button } from '../../widgets/button'
import { endingText } from '../../widgets/ending'
import { HealthBadge } from '../../widgets/health'
import { Icon } from '../../widgets/icon'
import { JobTime } from '../../widgets/job'
import { StateBadge } from '../../widgets/state'
import { waitingWords } from '../../widgets/waiting'

export type JobsKind = 'waiting' | 'running' | 'ended'

interface Column {
  head: string
  num?: boolean
  cell: (job: Job, context: Context) => ReactNode
  title?: (job: Job) => string | undefined
}

interface Context {
  currency: string
  queues: Queue[]
}

function Why({ job, currency }: { job: Job; currency: string }): ReactElement | null {
  if (!job.waiting) return null
  const words = waitingWords(job.waiting, currency)
  return (
    <>
      {words.text}
      {words.change && <span className="muted why-change">{words.change}</span>}
    </>
  )
}

const WEEK_S = 604_800

/** By when what runs is ended at the latest. */
export function endsBy(job: Job, queues: Queue[]): string | null {
  const last = job.attempts[job.attempts.length - 1]
  if (!last?.started_at) return null
  if (job.spec.kind === 'service' && !job.spec.timeout_s) return null
  const queue = queues.find((one) => one.name === job.queue)
  const limit = job.spec.timeout_s ?? queue?.timeout_s ?? WEEK_S
  return new Date(Date.parse(last.started_at) + limit * 1000).toISOString()
}

function place(job: Job): string {
  const last = job.attempts[job.attempts.length - 1]
  return last ? `${last.target} / ${last.agent}` : ''
}

const gpusText = (job: Job): string => {
  const need = needOf(job)
  if (need.gpus === 0) return '–'
  return need.nodes > 1 ? `${need.nodes} × ${need.gpus}` : formatInteger(need.gpus)
}

const column = {
  rank: (): Column => ({
    head: t('queue.column_rank'),
    num: true,
    cell: (job) => job.waiting?.rank ?? '',
  }),
  state: (): Column => ({
    head: t('queue.column_state'),
    cell: (job) =>
      isArrayLine(job) ? (
        statesText(job)
      ) : (
        <span className="states">
          <StateBadge state={job.state} title={endingText(job) || undefined} />
          <HealthBadge job={job} />
        </span>
      ),
  }),
  why: (): Column => ({
    head: t('queue.column_why'),
    cell: (job, { currency }) => <Why job={job} currency={currency} />,
  }),
  estimate: (): Column => ({
    head: t('queue.column_estimate'),
    cell: (job) => (job.waiting?.start_estimate ? formatMoment(job.waiting.start_estimate) : ''),
    title: () => t('waiting.estimate_hint'),
  }),
  project: (): Column => ({
    head: t('queue.column_project'),
    cell: (job) => <Link href={`/p/${job.project}/runs`}>{job.project}</Link>,
  }),
  gpus: (): Column => ({ head: t('queue.column_gpus'), num: true, cell: gpusText }),
  holds: (): Column => ({ head: t('queue.column_holds'), cell: (job) => needText(needOf(job)) }),
  priority: (): Column => ({
    head: t('queue.column_priority'),
    num: true,
    cell: (job) => formatInteger(job.priority),
  }),
  owner: (): Column => ({ head: t('queue.column_owner'), cell: (job) => job.owner }),
  age: (): Column => ({
    head: t('queue.column_age'),
    cell: (job) => formatAgo(job.created_at),
    title: (job) => formatTime(job.created_at),
  }),
  place: (): Column => ({ head: t('queue.column_target'), cell: place }),
  ends: (): Column => ({
    head: t('queue.column_ends'),
    cell: (job, { queues }) => {
      const at = endsBy(job, queues)
      return at ? formatMoment(at) : ''
    },
  }),
  ended: (): Column => ({
    head: t('queue.column_ended'),
    cell: (job) => formatAgo(job.ended_at),
    title: (job) => (job.ended_at ? formatTime(job.ended_at) : undefined),
  }),
  how: (): Column => ({ head: t('queue.column_how'), cell: (job) => endingText(job) }),
  time: (): Column => ({
    head: t('queue.column_time'),
    num: true,
    cell: (job) => <JobTime job={job} />,
  }),
  hours: (): Column => ({
    head: t('queue.column_gpu_hours'),
    num: true,
    cell: (job) => (job.gpu_ms ? formatNumber(gpuHours(job.gpu_ms)) : '–'),
  }),
  cost: (): Column => ({
    head: t('queue.column_cost'),
    num: true,
    cell: (job, { currency }) => formatMoney(job.cost_micro, currency),
  }),
}

function columnsOf(kind: JobsKind): Column[] {
  const c = column
  if (kind === 'waiting') {
    return [
      ...[c.state(), c.why(), c.estimate(), c.project()],
      ...[c.gpus(), c.priority(), c.owner(), c.age()],
    ]
  }
  if (kind === 'running') {
    return [
      ...[c.state(), c.project(), c.owner(), c.holds(), c.place()],
      ...[c.time(), c.ends(), c.hours(), c.cost()],
    ]
  }
  return [
    ...[c.state(), c.how(), c.project(), c.owner(), c.place()],
    ...[c.ended(), c.time(), c.hours(), c.cost()],
  ]
}

const wraps = (head: string): boolean =>
  head === t('queue.column_why') ||
  head === t('queue.column_how') ||
  head === t('queue.column_holds')

interface RowsProps extends Context {
  kind: JobsKind
  current: string // id of the row that the keys are on
}

const cellClass = (one: Column): string | undefined =>
  one.num ? 'num' : wraps(one.head) ? 'cell-wrap' : undefined

interface RowProps extends RowsProps {
  job: Job
  head: ReactNode
  inner?: boolean // a job below the line of its array
}

function Row(props: RowProps): ReactElement {
  const { job, kind, inner } = props
  const id = inner ? job.id : lineId(job)
  return (
    <tr
      className={[job.id === props.current && 'row-current', inner && 'row-inner']
        .filter(Boolean)
        .join(' ')}
      data-job={id}
    >
      {kind === 'waiting' && <td className="num muted">{column.rank().cell(job, props)}</td>}
      <th scope="row">{props.head}</th>
      {columnsOf(kind).map((one) => (
        <td key={one.head} className={cellClass(one)} title={one.title?.(job)}>
          {one.cell(job, props)}
        </td>
      ))}
    </tr>
  )
}

const JobLink = ({ job }: { job: Job }): ReactElement => (
  <Link href={`/jobs/${lineId(job)}`} className="row-link">
    {lineName(job)}
  </Link>
)

/** The jobs of an array, below its line. */
function Elements(props: RowsProps & { array: string }): ReactElement {
  const { kind, array } = props
  const found = useArray(array, true)
  const jobs = found.data?.pages.flatMap((page) => page.items) ?? []
  const span = columnsOf(kind).length + (kind === 'waiting' ? 2 : 1)
  return (
    <>
      {jobs.map((job) => (
        <Row key={job.id} {...props} inner job={job} head={<JobLink job={job} />} />
      ))}
      {(found.hasNextPage || found.isPending || found.error) && (
        <tr className="row-inner">
          <td colSpan={span}>
            {found.error && <span className="form-error">{found.error.message}</span>}
            {found.isPending && <span className="muted">{t('common.loading')}</span>}
            {found.hasNextPage && (
              <Button onClick={() => void found.fetchNextPage()} disabled={found.isFetching}>
                {t('queue.array_more')}
              </Button>
            )}
          </td>
        </tr>
      )}
    </>
  )
}

/** All jobs of an array in one line, which opens. */
function ArrayRow(props: RowsProps & { job: Job }): ReactElement {
  const { job } = props
  const [open, setOpen] = useState(false)
  const name = lineName(job)
  const head = (
    <span className="array-head">
      <button
        type="button"
        className="array-toggle"
        aria-expanded={open}
        aria-label={t(open ? 'queue.array_close' : 'queue.array_open', { name })}
        onClick={() => setOpen(!open)}
      >
        <Icon name="down" size={12} />
      </button>
      <JobLink job={job} />
      <span className="section-count">{formatInteger(job.array?.count ?? 1)}</span>
    </span>
  )
  return (
    <>
      <Row {...props} head={head} />
      {open && <Elements {...props} array={lineId(job)} />}
    </>
  )
}

interface TableProps extends RowsProps {
  label: string
  jobs: Job[]
}

export function JobsTable(props: TableProps): ReactElement {
  const { kind, jobs, current, currency, queues } = props
  const rows = { kind, current, currency, queues }
  return (
    <div className="table-scroll">
      <table className="table table-rows" aria-label={props.label}>
        <thead>
          <tr>
            {kind === 'waiting' && (
              <th scope="col" className="num">
                {column.rank().head}
              </th>
            )}
            <th scope="col">{t('queue.column_job')}</th>
            {columnsOf(kind).map((one) => (
              <th key={one.head} scope="col" className={one.num ? 'num' : undefined}>
                {one.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) =>
            isArrayLine(job) ? (
              <ArrayRow key={lineId(job)} {...rows} job={job} />
            ) : (
              <Row key={job.id} {...rows} job={job} head={<JobLink job={job} />} />
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}
