// What was wrong with the last answer of a service: an agent's words, in our languages where we know
// them.
import { type Key, t, type Values } from '../base/i18n'

const KNOWN: [RegExp, Key, (match: string[]) => Values][] = [
  [/^connection refused$/, 'problem.refused', () => ({})],
  [/^no answer within (\d+) s$/, 'problem.no_answer', ([, n]) => ({ n: Number(n) })],
  [/^the connection was closed before the answer's end$/, 'problem.closed', () => ({})],
  [/^what answers does not speak HTTP$/, 'problem.no_http', () => ({})],
]

export function problemText(problem: string): string {
  for (const [pattern, key, values] of KNOWN) {
    const match = pattern.exec(problem)
    if (match) return t(key, values(match))
  }
  return problem
}
