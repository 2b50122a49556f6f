// Parts of a job that its own page and its run's page both show.
import type { ReactElement } from 'react'
import type { Attempt, Job, JobEvent, Target } from '../api/client'
import {
  formatAgo,
  formatBytes,
  formatClock,
  formatDuration,
  formatMoney,
  formatTime,
} from '../base/format'
import { t, tName } from '../base/i18n'
import { endingText } from './ending'
import { Card, Facts } from './facts'
import { useNow } from './hooks'
import { StateBadge } from './state'
import { waitingText } from './waiting'

const ENDED = ['succeeded', 'failed', 'cancelled']
const GOING = ['starting', 'running', 'stopping']

export const jobEnded = (job: Job): boolean => ENDED.includes(job.state)

/** Run time of a job: goes on while an attempt runs. */
export function JobTime({ job }: { job: Job }): ReactElement {
  const going = GOING.includes(job.state)
  const now = useNow(going)
  const attempt = job.attempts.find((one) => GOING.includes(one.state))
  const ms = going && attempt?.started_at ? now - Date.parse(attempt.started_at) : job.run_time_ms
  return <span className="num">{job.started_at ? formatDuration(Math.max(0, ms)) : '–'}</span>
}

function priceText(target: Target | undefined, currency: string): string {
  if (!target) return ''
  const words = [t('job.price_hour', { price: formatMoney(target.price_hour_micro, currency) })]
  if (target.price_gpu_hour_micro > 0) {
    words.push(
      t('job.price_gpu_hour', { price: formatMoney(target.price_gpu_hour_micro, currency) }),
    )
  }
  return words.join(', ')
}

interface FactsProps {
  job: Job
  currency: string
  targets: Target[]
}

export function JobFacts({ job, currency, targets }: FactsProps): ReactElement {
  const last = job.attempts[job.attempts.length - 1]
  const target = targets.find((one) => one.name === last?.target)
  return (
    <Card title={t('run.tab_job')}>
      <Facts
        items={[
          [t('queue.column_state'), <StateBadge key="state" state={job.state} />],
          [t('queue.column_why'), job.waiting ? waitingText(job.waiting) : ''],
          [t('job.run_time'), <JobTime key="time" job={job} />],
          [
            jobEnded(job) ? t('job.cost') : t('job.cost_so_far'),
            <strong key="cost" className="num">
              {formatMoney(job.cost_micro, currency)}
            </strong>,
          ],
          [t('job.price'), priceText(target, currency)],
          [t('run.ended'), endingText(job)],
          [t('job.submitted'), formatTime(job.created_at)],
          [t('run.owner'), job.owner],
          [t('job.priority'), String(job.priority)],
          [t('job.agent'), last?.agent ?? ''],
          [t('job.target'), last?.target || job.spec.target || t('job.any_target')],
        ]}
      />
    </Card>
  )
}

export function JobSpec({ job }: { job: Job }): ReactElement {
  const { spec } = job
  const env = Object.entries(spec.env ?? {})
  return (
    <Card title={t('job.spec')}>
      <Facts
        items={[
          [
            t('job.command'),
            <code key="c" className="mono">
              {spec.command.join(' ')}
            </code>,
          ],
          [
            t('job.code'),
            spec.code && (
              <span className="mono" title={spec.code}>
                {spec.code.slice(0, 12)}
              </span>
            ),
          ],
          [t('job.cpus'), spec.cpus ? String(spec.cpus) : ''],
          [t('job.gpus'), spec.gpus ? String(spec.gpus) : ''],
          [t('job.memory'), spec.memory_bytes ? formatBytes(spec.memory_bytes) : ''],
          [t('job.timeout'), spec.timeout_s ? formatDuration(spec.timeout_s * 1000) : ''],
          [
            t('job.environment'),
            env.length > 0 && (
              <span className="mono">{env.map(([key, value]) => `${key}=${value}`).join(' ')}</span>
            ),
          ],
        ]}
      />
    </Card>
  )
}

function AttemptRow({ attempt, currency }: { attempt: Attempt; currency: string }): ReactElement {
  return (
    <tr>
      <th scope="row">{t('job.attempt', { n: attempt.number })}</th>
      <td>
        <StateBadge state={attempt.unreachable ? 'unreachable' : attempt.state} />
      </td>
      <td>{attempt.agent}</td>
      <td>{formatAgo(attempt.started_at ?? attempt.offered_at)}</td>
      <td>{endingText(attempt)}</td>
      <td className="num">{formatMoney(attempt.cost_micro, currency)}</td>
    </tr>
  )
}

export function Attempts({ job, currency }: { job: Job; currency: string }): ReactElement | null {
  if (job.attempts.length < 2) return null
  return (
    <Card title={t('job.attempts')}>
      <table className="table">
        <tbody>
          {job.attempts.map((attempt) => (
            <AttemptRow key={attempt.id} attempt={attempt} currency={currency} />
          ))}
        </tbody>
      </table>
    </Card>
  )
}

/** Why it happened, where the event says so; numbers stand in the card beside it. */
function detailText(detail: JobEvent['detail']): string {
  const { reason } = (detail ?? {}) as { reason?: unknown }
  return typeof reason === 'string' ? reason : ''
}

/** "ada" for user:ada, "agent rack1" for agent:rack1. */
function actorText(actor: string): string {
  return actor.replace(/^user:/, '').replace(':', ' ')
}

/** What happened to the job, oldest first, with the time between steps. */
export function Timeline({ job, events }: { job: Job; events: JobEvent[] }): ReactElement {
  return (
    <Card title={t('job.timeline')}>
      <ol className="timeline">
        {events.map((event, i) => {
          const before = events[i - 1]
          const gap = before ? Date.parse(event.at) - Date.parse(before.at) : 0
          return (
            <li key={event.seq} data-state={event.state}>
              <StateBadge state={event.state} />
              <span className="timeline-what">
                {tName('event', event.kind)}
                {event.actor && (
                  <span className="muted"> {t('job.by', { actor: actorText(event.actor) })}</span>
                )}
                {detailText(event.detail) && (
                  <span className="muted timeline-detail">{detailText(event.detail)}</span>
                )}
              </span>
              <time dateTime={event.at} title={formatTime(event.at)} className="num">
                {formatClock(event.at)}
                {gap >= 1000 && <span className="muted"> +{formatDuration(gap)}</span>}
              </time>
            </li>
          )
        })}
      </ol>
      {job.waiting && <p className="notice">{waitingText(job.waiting)}</p>}
    </Card>
  )
}
