// Lines of a list of jobs: a job each, or one for all jobs of an array, with how many are in which
// state.
import type { Job } from '../api/client'
import { formatInteger } from '../base/format'
import { t, tName } from '../base/i18n'

export const WAITING = ['held', 'queued', 'offered']
const ENDED = ['succeeded', 'failed', 'cancelled']

export const isArrayLine = (job: Job): boolean => Boolean(job.array?.states)

/** The id that stands for the line, for its page and for `after`. */
export const lineId = (job: Job): string =>
  job.array?.states !== undefined ? job.array.id : job.id

/** The name of an array: its elements are called NAME-INDEX. */
export function lineName(job: Job): string {
  const end = job.array?.states ? `-${job.array.index}` : ''
  const name = end && job.name.endsWith(end) ? job.name.slice(0, -end.length) : job.name
  return name || lineId(job)
}

const statesOf = (job: Job): Record<string, number> => job.array?.states ?? { [job.state]: 1 }

function countIn(job: Job, wanted: (state: string) => boolean): number {
  return Object.entries(statesOf(job)).reduce((sum, [state, n]) => sum + (wanted(state) ? n : 0), 0)
}

export const countWaiting = (job: Job): number => countIn(job, (state) => WAITING.includes(state))
export const countRunning = (job: Job): number =>
  countIn(job, (state) => !WAITING.includes(state) && !ENDED.includes(state))
export const lineEnded = (job: Job): boolean => countWaiting(job) + countRunning(job) === 0

/** "Queued: 990, Running: 10"; of a service that is asked "Running: 3, Healthy: 2". */
export function statesText(job: Job): string {
  const words = Object.entries(statesOf(job)).map(
    ([state, n]) => `${tName('state', state)}: ${formatInteger(n)}`,
  )
  const healthy = job.array?.healthy
  if (healthy !== undefined) words.push(`${t('health.healthy')}: ${formatInteger(healthy)}`)
  return words.join(', ')
}
