// The attempts of a job with their ranks, and the targets: tried, open, or why not.
import type { ReactElement } from 'react'
import type { Agent, Job, Placement, Queue, Share, Target } from '../../api/client'
import { formatDuration, formatMoney, formatTime } from '../../base/format'
import { t } from '../../base/i18n'
import { namedTargets, needOf } from '../../widgets/amount'
import { endingText } from '../../widgets/ending'
import { Card } from '../../widgets/facts'
import { closedBy, fitOf } from '../../widgets/fit'
import { jobEnded } from '../../widgets/job'
import { StateBadge } from '../../widgets/state'

type Attempt = Job['attempts'][number]

function lasted(attempt: Attempt): string {
  if (!attempt.started_at) return '–'
  const end = attempt.ended_at ? Date.parse(attempt.ended_at) : Date.now()
  return formatDuration(Math.max(0, end - Date.parse(attempt.started_at)))
}

const ranksText = ({ rank, rank_count: count }: Placement): string =>
  count > 1
    ? t('job.rank_many', { from: rank, to: rank + count - 1 })
    : t('job.rank_one', { n: rank })

function AttemptRows({ attempt, currency }: { attempt: Attempt; currency: string }): ReactElement {
  const placements = attempt.placements ?? []
  const several = placements.length > 1
  return (
    <>
      <tr data-attempt={attempt.number}>
        <th scope="row">{t('job.attempt', { n: attempt.number })}</th>
        <td>
          <StateBadge state={attempt.unreachable ? 'unreachable' : attempt.state} />
        </td>
        <td>
          {attempt.target} /{' '}
          {several ? t('amount.machines', { n: placements.length }) : attempt.agent}
        </td>
        <td title={formatTime(attempt.started_at ?? attempt.offered_at)} className="num">
          {lasted(attempt)}
        </td>
        <td className="cell-wrap">{endingText(attempt)}</td>
        <td className="num">{formatMoney(attempt.cost_micro, currency)}</td>
      </tr>
      {several &&
        placements.map((placement) => (
          <tr key={placement.rank} className="attempt-rank">
            <th scope="row">{ranksText(placement)}</th>
            <td>
              <StateBadge state={placement.state} />
            </td>
            <td>{placement.agent}</td>
            <td />
            <td className="cell-wrap">{endingText(placement)}</td>
            <td />
          </tr>
        ))}
    </>
  )
}

export function Attempts({ job, currency }: { job: Job; currency: string }): ReactElement | null {
  if (job.attempts.length === 0) return null
  return (
    <Card title={t('job.attempts')}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls where it is narrow */}
      <div className="table-scroll" role="group" aria-label={t('job.attempts')} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t('job.attempts')}</th>
              <th scope="col">{t('queue.column_state')}</th>
              <th scope="col">{t('job.target')}</th>
              <th scope="col" className="num">
                {t('job.run_time')}
              </th>
              <th scope="col">{t('run.ended')}</th>
              <th scope="col" className="num">
                {t('job.cost')}
              </th>
            </tr>
          </thead>
          <tbody>
            {job.attempts.map((attempt) => (
              <AttemptRows key={attempt.id} attempt={attempt} currency={currency} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

/** With the GPU types that it takes. */
const askedOf = (job: Job) => ({ ...needOf(job), gpuTypes: [job.spec.gpu_type ?? []].flat() })

interface TargetsProps {
  job: Job
  targets: Target[]
  agents: Agent[]
  queue: Queue | undefined
  shares: Share[] // of its project and those above
}

/** What is to be said of a target: it was tried there, it runs there, or why not. */
function targetText(props: TargetsProps, target: Target): string {
  const { job } = props
  const tried = job.attempts.filter((attempt) => attempt.target === target.name)
  const last = tried[tried.length - 1]
  const words: string[] = []
  if (tried.length > 0) words.push(t('job.target_tried', { n: tried.length }))
  if (last && !last.ended_at && !jobEnded(job)) words.push(t('job.target_runs'))
  else if (last && endingText(last)) words.push(endingText(last))
  if (job.waiting) {
    const closed = closedBy(target.name, props.queue, props.shares)
    words.push(closed ?? fitOf(target, props.agents, askedOf(job)).text)
  }
  return words.join(' · ')
}

/** The targets it may use or was tried on. */
export function Targets(props: TargetsProps): ReactElement | null {
  const { job, targets } = props
  const tried = new Set(job.attempts.map((attempt) => attempt.target))
  const named = namedTargets(job)
  const shown = targets
    .filter(
      (target) =>
        tried.has(target.name) ||
        (job.waiting && (named.length === 0 || named.includes(target.name))),
    )
    .sort((a, b) => named.indexOf(a.name) - named.indexOf(b.name))
  if (shown.length === 0) return null
  return (
    <Card title={t('job.targets')}>
      <table className="table key-values">
        <tbody>
          {shown.map((target) => (
            <tr key={target.name} data-target={target.name}>
              <th scope="row">{target.name}</th>
              <td>{targetText(props, target)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}
