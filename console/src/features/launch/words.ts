// Words, sizes and times as people write them on a command line, and back.
import { t } from '../../base/i18n'

/** A line as a shell splits it: quotes and backslashes, nothing else. Throws on an open quote. */
export function splitWords(line: string): string[] {
  const words: string[] = []
  let word: string | null = null
  let quote = ''
  for (let i = 0; i < line.length; i++) {
    const c = line[i] ?? ''
    if (quote === "'") {
      if (c === "'") quote = ''
      else word += c
    } else if (c === '\\' && (quote === '' || '"\\$`'.includes(line[i + 1] ?? ''))) {
      i++
      if (line[i] !== '\n') word = (word ?? '') + (line[i] ?? '')
    } else if (quote === '"') {
      if (c === '"') quote = ''
      else word += c
    } else if (c === "'" || c === '"') {
      quote = c
      word ??= ''
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word)
      word = null
    } else {
      word = (word ?? '') + c
    }
  }
  if (quote) throw new Error(t('launch.bad_quote'))
  if (word !== null) words.push(word)
  return words
}

/** A word that a shell reads as it is. */
export function quoteWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", "'\\''")}'`
}

const SIZES = ['K', 'M', 'G', 'T', 'P']
const SIZE = /^(\d+(?:\.\d+)?)\s*([KMGTP])?(?:i?B)?$/i
const TIMES: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
const TIME = /^(\d+)\s*([smhd])?$/

/** "8G" in bytes; undefined when nothing is written. */
export function readSize(text: string): number | undefined {
  if (text.trim() === '') return undefined
  const match = SIZE.exec(text.trim())
  const bytes = Number(match?.[1]) * 1024 ** (SIZES.indexOf((match?.[2] ?? '').toUpperCase()) + 1)
  if (!match || !Number.isSafeInteger(Math.round(bytes))) throw new Error(t('launch.bad_size'))
  return Math.round(bytes)
}

/** "90m" in seconds; undefined when nothing is written. */
export function readTime(text: string): number | undefined {
  if (text.trim() === '') return undefined
  const match = TIME.exec(text.trim())
  const seconds = Number(match?.[1]) * (TIMES[match?.[2] ?? 's'] ?? 1)
  if (!match || seconds < 1 || seconds > 31_536_000) throw new Error(t('launch.bad_time'))
  return seconds
}

/** The shortest whole form: 2d, 90m, 45s. */
export function writeTime(seconds: number): string {
  for (const unit of ['d', 'h', 'm']) {
    const size = TIMES[unit] ?? 1
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`
  }
  return `${seconds}s`
}

interface Indices {
  from: number
  to: number
  step?: number
  limit?: number
}

/** 0-99:5%10 */
export const writeArray = ({ from, to, step, limit }: Indices): string =>
  `${from}-${to}${step === undefined ? '' : `:${step}`}${limit === undefined ? '' : `%${limit}`}`

export function writeSize(bytes: number): string {
  for (let i = SIZES.length; i > 0; i--) {
    const size = 1024 ** i
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${SIZES[i - 1]}`
  }
  return String(bytes)
}

// What YAML would read as something else than text, or not at all.
const PLAIN = /^[A-Za-z/][\w./@+-]*$/
const OTHER = /^(true|false|yes|no|on|off|null|y|n|\.?nan|\.?inf)$/i

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return PLAIN.test(value) && !OTHER.test(value) ? value : JSON.stringify(value)
}

/** A document of objects, lists and scalars as YAML; lists of scalars stay on one line. */
export function writeYaml(value: Record<string, unknown>, indent = ''): string {
  const lines: string[] = []
  for (const [key, inner] of Object.entries(value)) {
    const name = `${indent}${scalar(key)}:`
    if (Array.isArray(inner) && inner.every((one) => typeof one === 'object' && one !== null)) {
      lines.push(name)
      for (const one of inner) {
        const text = writeYaml(one as Record<string, unknown>, `${indent}    `)
        lines.push(`${indent}  - ${text.trimStart()}`)
      }
    } else if (Array.isArray(inner)) {
      lines.push(`${name} [${inner.map(scalar).join(', ')}]`)
    } else if (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0) {
      lines.push(name, writeYaml(inner as Record<string, unknown>, `${indent}  `))
    } else {
      lines.push(`${name} ${scalar(inner)}`)
    }
  }
  return lines.join('\n')
}
