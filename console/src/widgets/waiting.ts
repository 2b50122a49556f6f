// Why a job waits, from the stable code of the API and its numbers. The server's own words stand in
// for codes that this console does not know.
import type { Waiting } from '../api/client'
import { formatInteger, formatMoment, formatMoney } from '../base/format'
import { isKey, t, type Values } from '../base/i18n'
import { amountText, gpuHours } from './amount'

export interface WaitingWords {
  text: string
  change: string // what would change it; empty: nothing that anybody could do
  estimate: string // when it may start; empty: nothing bounds what runs before it
}

/** What the numbers of a code are: an amount of its resource unless the code says what else. */
function sized(waiting: Waiting, n: number, currency: string): string {
  if (waiting.code === 'budget_money') return formatMoney(n, currency)
  if (waiting.code === 'budget_hours') return t('amount.gpu_hours', { n: gpuHours(n) })
  return waiting.resource ? amountText(waiting.resource, n) : formatInteger(n)
}

// The number that decides the plural of a text.
const COUNTED_FREE = ['array_limit', 'parallel_jobs']

function valuesOf(waiting: Waiting, currency: string): Values {
  const asked = waiting.asked ?? 0
  const free = waiting.free ?? 0
  const least = waiting.code === 'after' ? 1 : 0 // what it comes after is there
  return {
    n: COUNTED_FREE.includes(waiting.code) ? free : Math.max(asked, least),
    asked: sized(waiting, asked, currency),
    free: sized(waiting, free, currency),
    running: asked,
    share: waiting.share || t('share.organisation'),
    queue: waiting.queue ?? '',
    target: waiting.target ?? '',
    job: waiting.job ?? '',
    until: waiting.until ? formatMoment(waiting.until) : '',
  }
}

/** The text has another form where a value is missing, or there. */
function variant(key: string, waiting: Waiting): string {
  if (key === 'waiting.maintenance' && !waiting.target) return 'waiting.maintenance_any'
  if (key === 'waiting_change.maintenance' && waiting.until) return `${key}_until`
  if (key === 'waiting.machine_coming' && waiting.until) return `${key}_until`
  return key
}

export function waitingWords(waiting: Waiting, currency: string): WaitingWords {
  const values = valuesOf(waiting, currency)
  const say = (prefix: string): string | null => {
    const key = variant(`${prefix}.${waiting.code}`, waiting)
    return isKey(key) ? t(key, values) : null
  }
  const text = say('waiting')
  const known = text !== null
  const at = waiting.start_estimate
  return {
    text: known ? text : waiting.text,
    change: (known ? say('waiting_change') : waiting.change) ?? '',
    estimate: at ? t('waiting.estimate', { time: formatMoment(at) }) : '',
  }
}

export const waitingText = (waiting: Waiting, currency: string): string =>
  waitingWords(waiting, currency).text

/** "3 jobs are ahead." */
export function rankText(waiting: Waiting): string {
  if (!waiting.rank) return ''
  return waiting.rank === 1 ? t('job.rank_next') : t('job.rank_ahead', { n: waiting.rank - 1 })
}
