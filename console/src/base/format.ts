// Numbers, times, durations, money and sizes as people of the chosen language read them.
import { currentLanguage, t } from './i18n'

const cache = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat>()

function cached<T extends Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat>(
  key: string,
  make: () => T,
): T {
  const name = `${currentLanguage()} ${key}`
  const found = cache.get(name) as T | undefined
  if (found) return found
  const made = make()
  cache.set(name, made)
  return made
}

/** 5 significant digits; very large and small ones in powers of ten. NaN and infinities by name. */
export function formatNumber(value: number, digits = 5): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞'
  const size = Math.abs(value)
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) {
    return value
      .toExponential(Math.min(digits - 1, 3))
      .replace('e+', 'e')
      .replace('-', '−')
  }
  return cached(`number ${digits}`, () => {
    return new Intl.NumberFormat(currentLanguage(), { maximumSignificantDigits: digits })
  }).format(value)
}

export function formatInteger(value: number): string {
  return cached('integer', () => new Intl.NumberFormat(currentLanguage())).format(value)
}

/** A value of config or summary: text as it is, numbers formatted, the rest as JSON. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '–'
  // Whole numbers are often names (a seed, a year): as they were written.
  if (Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'number') return formatNumber(value, 6)
  if (typeof value === 'string')
    return value === 'Infinity' ? '∞' : value === '-Infinity' ? '−∞' : value
  if (typeof value === 'boolean') return String(value)
  return JSON.stringify(value)
}

/** "820 ms", "4.2 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return t('unit.ms', { n: Math.max(0, Math.round(ms)) })
  if (ms < 10_000) return t('unit.s', { n: Math.round(ms / 100) / 10 })
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return t('unit.s', { n: seconds })
  if (seconds < 3600) return t('unit.min_s', { m: Math.floor(seconds / 60), s: seconds % 60 })
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1440) return t('unit.h_min', { h: Math.floor(minutes / 60), m: minutes % 60 })
  const hours = Math.floor(minutes / 60)
  return t('unit.d_h', { d: Math.floor(hours / 24), h: hours % 24 })
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

/** "5 minutes ago"; beyond a week the date. */
export function formatAgo(at: string | null | undefined, now = Date.now()): string {
  if (!at) return t('time.never')
  const past = now - Date.parse(at)
  if (past < 5000) return t('time.now')
  if (past > 7 * 86_400_000) return formatDate(at)
  const [unit, size] = STEPS.find(([, step]) => past >= step) ?? ['second', 1000]
  return cached('ago', () => {
    return new Intl.RelativeTimeFormat(currentLanguage(), { style: 'short', numeric: 'always' })
  }).format(-Math.floor(past / size), unit)
}

export function formatDate(at: string): string {
  return cached('date', () => {
    return new Intl.DateTimeFormat(currentLanguage(), { dateStyle: 'medium' })
  }).format(new Date(at))
}

export function formatTime(at: string | number): string {
  return cached('time', () => {
    return new Intl.DateTimeFormat(currentLanguage(), { dateStyle: 'medium', timeStyle: 'medium' })
  }).format(new Date(at))
}

export function formatClock(at: string | number): string {
  return cached('clock', () => {
    return new Intl.DateTimeFormat(currentLanguage(), { timeStyle: 'medium' })
  }).format(new Date(at))
}

/** When something will be: the time alone while that is less than half a day away. */
export function formatMoment(at: string, now = Date.now()): string {
  const away = Date.parse(at) - now
  if (Math.abs(away) < 43_200_000) {
    return cached('moment', () => {
      return new Intl.DateTimeFormat(currentLanguage(), { timeStyle: 'short' })
    }).format(new Date(at))
  }
  return cached('moment far', () => {
    return new Intl.DateTimeFormat(currentLanguage(), { dateStyle: 'medium', timeStyle: 'short' })
  }).format(new Date(at))
}

/** Millionths of a currency. Small sums keep four digits, so that a short run is not free. */
export function formatMoney(micro: number | null | undefined, currency: string): string {
  if (micro === null || micro === undefined) return '–'
  const value = micro / 1e6
  const digits = Math.abs(value) < 1 && micro % 10_000 !== 0 ? 4 : 2
  return cached(`money ${currency} ${digits}`, () => {
    return new Intl.NumberFormat(currentLanguage(), {
      style: 'currency',
      currency,
      minimumFractionDigits: digits, // in a column, points lie under each other
      maximumFractionDigits: digits,
    })
  }).format(value)
}

/** 1536 -> "1.5 KiB". */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let size = bytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${formatNumber(size, size >= 100 ? 3 : 2)} ${units[unit]}`
}

/** Long names differ at the end: cut in the middle. */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text
  const head = Math.ceil((max - 1) / 2)
  return `${text.slice(0, head)}…${text.slice(text.length - (max - 1 - head))}`
}

/** A value of a metric: names that end in bytes or bytes_per_s are sizes, all others numbers. */
export function formatMetric(metric: string, value: number, digits: number): string {
  const size = /bytes(_per_s)?$/.exec(metric)
  if (!size || !Number.isFinite(value)) return formatNumber(value, digits)
  return `${value < 0 ? '-' : ''}${formatBytes(Math.abs(value))}${size[1] ? '/s' : ''}`
}
