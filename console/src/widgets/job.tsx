// Parts of a job that its own page and its run's page both show.
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { Job, JobEvent, Target } from '../api/client'
import {
  formatBytes,
  formatClock,
  formatDuration,
  formatInteger,
  formatMoney,
  formatNumber,
  formatTime,
} from '../base/format'
import { t, tName } from '../base/i18n'
import { energyText, gpuHours, namedTargets, needOf, needText } from './amount'
import { endingText } from './ending'
import { Card, Facts } from './facts'
import { checkText, HealthFact } from './health'
import { useNow } from './hooks'
import { Icon } from './icon'
import { problemText } from './problem'
import { StateBadge } from './state'
import { rankText, waitingWords } from './waiting'

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
          [t('job.progress'), last?.progress ?? ''],
          [t('job.health'), job.health && <HealthFact key="health" job={job} />],
          [t('job.run_time'), <JobTime key="time" job={job} />],
          [
            jobEnded(job) ? t('job.cost') : t('job.cost_so_far'),
            <strong key="cost" className="num">
              {formatMoney(job.cost_micro, currency)}
            </strong>,
          ],
          [t('job.gpu_hours'), job.gpu_ms ? formatNumber(gpuHours(job.gpu_ms)) : ''],
          [t('job.energy'), job.energy_mj ? energyText(job.energy_mj) : ''],
          [
            t('job.idle'),
            job.idle_since && (
              <span key="idle" className="job-idle">
                <Icon name="warning" />
                {t('job.idle_since', { time: formatTime(job.idle_since) })}
              </span>
            ),
          ],
          [t('job.price'), priceText(target, currency)],
          [t('run.ended'), endingText(job)],
          [t('job.submitted'), formatTime(job.created_at)],
          [t('run.owner'), job.owner],
          [
            t('job.queue'),
            job.queue && (
              <Link key="queue" href={`/queue?queue=${job.queue}`}>
                {job.queue}
              </Link>
            ),
          ],
          [t('job.priority'), formatInteger(job.priority)],
          [t('queue.column_holds'), last && !jobEnded(job) ? needText(needOf(job)) : ''],
          [
            t('launch.image'),
            last?.image && (
              <span className="mono" title={last.image}>
                {last.image.replace(/(sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1')}
              </span>
            ),
          ],
          [t('job.agent'), last?.agent ?? ''],
          [t('job.target'), last?.target || namedTargets(job).join(', ') || t('job.any_target')],
        ]}
      />
    </Card>
  )
}

const pairs = (map: Record<string, unknown> | undefined): string =>
  Object.entries(map ?? {})
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')

export function JobSpec({ job }: { job: Job }): ReactElement {
  const { spec } = job
  const config = pairs(spec.config)
  const env = pairs(spec.env)
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
          [t('job.kind'), spec.kind === 'service' ? t('job.kind_service') : ''],
          [t('job.replicas'), spec.replicas ? formatInteger(spec.replicas) : ''],
          [t('job.health_check'), spec.health && <span className="mono">{checkText(spec)}</span>],
          [t('launch.image'), spec.image && <span className="mono">{spec.image}</span>],
          [t('launch.gpu_type'), [spec.gpu_type ?? []].flat().join(', ')],
          [t('launch.secrets'), pairs(spec.secrets)],
          [t('run.config'), config && <span className="mono">{config}</span>],
          [t('job.nodes'), (spec.nodes ?? 1) > 1 ? formatInteger(spec.nodes ?? 1) : ''],
          [t('job.cpus'), spec.cpus ? formatInteger(spec.cpus) : ''],
          [t('job.gpus'), spec.gpus ? formatInteger(spec.gpus) : ''],
          [t('job.memory'), spec.memory_bytes ? formatBytes(spec.memory_bytes) : ''],
          [t('job.timeout'), spec.timeout_s ? formatDuration(spec.timeout_s * 1000) : ''],
          [t('job.retries'), spec.retries === undefined ? '' : formatInteger(spec.retries)],
          [t('job.environment'), env && <span className="mono">{env}</span>],
        ]}
      />
    </Card>
  )
}

interface Detail {
  reason: string
  ending: string
  exit_code: number | null
  signal: number | null
  oom: boolean
  rank: number | null
  priority: number | null
  health: string
  queue: string
  targets: string[]
}

/** Names of the targets of an event: one name, or a list with waits. */
function targetsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) return []
  return value.flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'target' in one ? [String(one.target)] : [],
  )
}

/** What a change of a waiting job made of it. */
function changedText({ priority, queue, targets }: Detail): string {
  const words: string[] = []
  if (priority !== null) words.push(t('job.priority_now', { n: priority }))
  if (queue) words.push(t('job.queue_now', { name: queue }))
  if (targets.length > 0) words.push(t('job.targets_now', { names: targets.join(', ') }))
  return words.join(', ')
}

/** What an event says of itself; what is not there or of another kind is left out. */
function detailOf(detail: JobEvent['detail']): Detail {
  const have = (detail ?? {}) as Record<string, unknown>
  const text = (key: string): string => (typeof have[key] === 'string' ? String(have[key]) : '')
  const number = (key: string): number | null =>
    typeof have[key] === 'number' ? Number(have[key]) : null
  return {
    reason: text('reason'),
    ending: have.unhealthy ? 'unhealthy' : text('ending'),
    exit_code: number('exit_code'),
    signal: number('signal'),
    oom: have.oom === true || have.oom === 1,
    rank: number('rank'),
    priority: number('priority'),
    health: text('health'),
    queue: text('queue'),
    targets: targetsOf(have.targets),
  }
}

/** Why it happened: cause, evidence, which rank. */
function detailText(event: JobEvent): string {
  const detail = detailOf(event.detail)
  if (event.kind === 'changed') return changedText(detail)
  const words: string[] = []
  if (detail.rank !== null) words.push(t('job.rank_one', { n: detail.rank }))
  if (event.kind === 'health') {
    words.push(tName('health', detail.health))
    if (detail.reason) words.push(problemText(detail.reason))
    return words.join(' · ')
  }
  const how = endingText(detail)
  if (how) words.push(how)
  return words.join(' · ')
}

/** "ada" for user:ada, "agent rack1" for agent:rack1. */
export function actorText(actor: string): string {
  const at = actor.indexOf(':')
  const kind = at < 0 ? actor : actor.slice(0, at)
  const name = at < 0 ? '' : actor.slice(at + 1)
  if (kind === 'user') return name
  if (kind === 'agent') return t('actor.agent', { name })
  if (kind === 'job') return t('actor.job', { name })
  return kind === 'system' ? t('actor.system') : actor.replace(':', ' ')
}

/** What happened to the job, oldest first, with the time between steps. */
export function Timeline({ events }: { events: JobEvent[] }): ReactElement {
  return (
    <Card title={t('job.timeline')}>
      <ol className="timeline">
        {events.map((event, i) => {
          const before = events[i - 1]
          const gap = before ? Date.parse(event.at) - Date.parse(before.at) : 0
          const detail = detailText(event)
          return (
            <li key={event.seq} data-state={event.state} data-kind={event.kind}>
              <StateBadge state={event.state} />
              <span className="timeline-what">
                {tName('event', event.kind)}
                {event.actor && (
                  <span className="muted"> {t('job.by', { actor: actorText(event.actor) })}</span>
                )}
                {detail && <span className="muted timeline-detail">{detail}</span>}
              </span>
              <time dateTime={event.at} title={formatTime(event.at)} className="num">
                {formatClock(event.at)}
                {gap >= 1000 && <span className="muted"> +{formatDuration(gap)}</span>}
              </time>
            </li>
          )
        })}
      </ol>
    </Card>
  )
}

/** Why it waits, what would change that, and when it may start. */
export function Why({ job, currency }: { job: Job; currency: string }): ReactElement | null {
  const { waiting } = job
  if (!waiting) return null
  const words = waitingWords(waiting, currency)
  const ahead = rankText(waiting)
  return (
    <Card title={t('job.why')}>
      <div className="why" role="status" data-code={waiting.code}>
        <p className="why-text">{words.text}</p>
        {words.change && (
          <p>
            <span className="muted">{t('job.what_changes')}:</span> {words.change}
          </p>
        )}
        {words.estimate && <p title={t('waiting.estimate_hint')}>{words.estimate}</p>}
        {ahead && <p className="muted">{ahead}</p>}
        {waiting.job && (
          <Link href={`/jobs/${waiting.job}`} className="link">
            {t('job.see_job', { job: waiting.job })}
          </Link>
        )}
      </div>
    </Card>
  )
}
