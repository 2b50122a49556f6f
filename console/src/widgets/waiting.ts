import type { Waiting } from '../api/client'
import { formatBytes, formatInteger } from '../base/format'
import { type Key, t, tName } from '../base/i18n'

const CODES = ['held', 'no_agent', 'no_target', 'busy', 'too_big', 'offered']

/** Why a job waits, from its stable code and numbers; the server's own words for codes we lack. */
export function waitingText(waiting: Waiting): string {
  if (!CODES.includes(waiting.code)) return waiting.text
  const words: string[] = []
  const size = (n: number): string =>
    waiting.resource?.startsWith('memory') ? formatBytes(n) : formatInteger(n)
  const numbered = waiting.code === 'busy' || waiting.code === 'too_big'
  if (numbered && waiting.asked !== undefined && waiting.free !== undefined && waiting.resource) {
    const values = {
      asked: size(waiting.asked),
      free: size(waiting.free),
      resource: tName('resource', waiting.resource),
    }
    if (waiting.code === 'busy') words.push(t('waiting.busy'))
    words.push(t(`waiting.${waiting.code}_numbers` as Key, values))
  } else {
    words.push(t(`waiting.${waiting.code}` as Key))
  }
  if (waiting.code !== 'offered' && waiting.code !== 'held' && waiting.rank !== undefined) {
    words.push(waiting.rank <= 1 ? t('waiting.next') : t('waiting.rank', { n: waiting.rank - 1 }))
  }
  return words.join(' ')
}
