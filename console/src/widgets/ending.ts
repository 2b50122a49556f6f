// How a run, job, attempt or rank ended, in words: the cause is kept apart from the exit code.
import { formatDuration } from '../base/format'
import { isKey, type Key, t, type Values } from '../base/i18n'
import { problemText } from './problem'

interface Ending {
  ending?: string | undefined
  exit_code?: number | null | undefined
  signal?: number | null | undefined
  oom?: boolean | undefined
  reason?: string | undefined
}

// The server's words for what the code and the numbers beside them say already, and for what has
// words in our languages. What is said of a machine by its agent stays as it came.
const KNOWN: [RegExp, Key | '', (match: string[]) => Values][] = [
  [/^(it )?exited with (code )?\d+$/, '', () => ({})],
  [/^it was ended by SIG\w+$/, '', () => ({})],
  [/^it was stopped$/, '', () => ({})],
  [/^the kernel killed it for memory$/, '', () => ({})],
  [/^the agent does not hold it any more$/, '', () => ({})],
  [/^a job that it comes after did not succeed$/, '', () => ({})],
  [/^it ran longer than (\d+) s$/, 'reason.longer', ([, s]) => ({ time: seconds(s) })],
  [/^cancelled by (.+)$/, 'reason.cancelled_by', ([, name = '']) => ({ name })],
  [/^for job (\w+)$/, 'reason.for_job', ([, job = '']) => ({ job })],
  [/^agent (\S+) did not take the offer$/, 'reason.not_taken', ([, agent = '']) => ({ agent })],
  [
    /^nothing was heard of agent (\S+) for (\d+) s$/,
    'reason.silent',
    ([, agent = '', s]) => ({ agent, time: seconds(s) }),
  ],
  [/^its GPUs stayed below 5 % for (\d+) minutes$/, 'reason.idle', ([, n]) => ({ n: Number(n) })],
  [
    /^(\d+) health checks in a row failed: (.*)$/,
    'reason.health_failed',
    ([, n, problem = '']) => ({ n: Number(n), problem: problemText(problem) }),
  ],
  [
    /^it did not come up within (\d+) s: (.*)$/,
    'reason.health_start',
    ([, s, problem = '']) => ({ time: seconds(s), problem: problemText(problem) }),
  ],
]

// Those that people meet; others keep their number alone.
const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
}

const signalText = (n: number): string => (SIGNALS[n] ? `${n} (${SIGNALS[n]})` : String(n))

const seconds = (s: string | undefined): string => formatDuration(Number(s) * 1000)

/** What a reason adds to the words before it. */
function reasonText(reason: string, alone: boolean): string {
  for (const [pattern, key, values] of KNOWN) {
    const match = pattern.exec(reason)
    if (match && key) return t(key, values(match))
    if (match) return alone ? reason : ''
  }
  return reason
}

export function endingText(ending: Ending): string {
  const code = ending.ending ?? ''
  const exit = ending.exit_code ?? null
  const signal = ending.signal ?? null
  const words: string[] = []
  const say = (word: string): void => void (words.includes(word) || words.push(word))
  const key = `ending.${code}`
  const isOutcome = code === 'done' || code === 'exit_code' || code === 'signal'
  if (code && !isOutcome) say(isKey(key) ? t(key) : code)
  if (ending.oom) say(t('ending.out_of_memory'))
  if (signal !== null) say(t('ending.signal', { n: signalText(signal) }))
  else if (exit !== null && (isOutcome || !code || exit !== 0))
    say(t('ending.exit_code', { n: exit }))
  if (words.length === 0 && isOutcome) say(t(key as Key, { n: '' }).trim())
  const reason = ending.reason ? reasonText(ending.reason, words.length === 0) : ''
  if (reason) say(reason)
  return words.join(' · ')
}
