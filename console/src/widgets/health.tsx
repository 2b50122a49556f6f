// How a service is, as its agent finds by asking it.
import type { ReactElement } from 'react'
import type { Job } from '../api/client'
import { formatAgo, formatTime } from '../base/format'
import { t, tName } from '../base/i18n'
import { problemText } from './problem'

type Health = NonNullable<Job['health']>

const TONES: Record<Health['state'], string> = {
  starting: 'active',
  healthy: 'good',
  unhealthy: 'bad',
}

/** By shape, colour and word, as states are; nothing where the job is not asked. */
export function HealthBadge({ job }: { job: Job }): ReactElement | null {
  const { health } = job
  if (!health) return null
  const since = t('health.since', { time: formatTime(health.since) })
  return (
    <span
      className={`state state-${TONES[health.state]}`}
      title={health.problem ? `${since}: ${problemText(health.problem)}` : since}
      data-health={health.state}
    >
      <span className="state-dot" aria-hidden="true" />
      {tName('health', health.state)}
    </span>
  )
}

/** The same with its time and what is wrong, where there is room. */
export function HealthFact({ job }: { job: Job }): ReactElement | null {
  const { health } = job
  if (!health) return null
  return (
    <>
      <HealthBadge job={job} /> <span className="muted">{formatAgo(health.since)}</span>
      {health.problem && <div>{problemText(health.problem)}</div>}
    </>
  )
}

/** How it is asked: "GET :8000/up, every 10 s". */
export function checkText(spec: Job['spec']): string {
  const { health } = spec
  if (!health) return ''
  const where = `GET :${health.port}${health.path ?? '/'}`
  return `${where}, ${t('health.every', { n: health.every_s ?? 10 })}`
}
