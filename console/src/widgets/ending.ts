import { t } from '../base/i18n'

interface Ending {
  exit_code?: number | null | undefined
  signal?: number | null | undefined
  oom?: boolean | undefined
  reason?: string | undefined
}

// The server's words for what the exit code beside them says already.
const REPEATS = /^(it )?exited with (code )?\d+$/

/** How a run, job or attempt ended, in words: the cause is kept apart from the exit code. */
export function endingText(ending: Ending): string {
  const words: string[] = []
  if (ending.oom) words.push(t('run.oom'))
  if (ending.signal !== null && ending.signal !== undefined)
    words.push(t('run.signal', { n: ending.signal }))
  else if (ending.exit_code !== null && ending.exit_code !== undefined) {
    words.push(t('run.exit_code', { n: ending.exit_code }))
  }
  if (ending.reason && !(words.length > 0 && REPEATS.test(ending.reason))) words.push(ending.reason)
  return words.join(' · ')
}
