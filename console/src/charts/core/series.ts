// What a chart draws, made from what the server answered: typed columns, smoothing, ranges. Pure.

export interface Series {
  id: string // of the run
  label: string
  colour: string
  x: Float64Array
  last: Float64Array // last value in each bucket: the line
  min: Float64Array
  max: Float64Array
  count: number
  notFinite: number
}

/** Debiased exponential moving average, weight 0 (none) to 0.99. Gaps stay gaps. */
export function smooth(values: Float64Array, weight: number): Float64Array {
  if (weight <= 0) return values
  const out = new Float64Array(values.length)
  let mean = 0
  let debias = 1
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (!Number.isFinite(value)) {
      out[i] = value
      continue
    }
    mean = mean * weight + value * (1 - weight)
    debias *= weight
    out[i] = mean / (1 - debias)
  }
  return out
}

export interface Range {
  min: number
  max: number
}

/** Finite least and greatest over columns; `positive` for a logarithmic axis. Null: nothing. */
export function rangeOf(columns: Float64Array[], positive = false): Range | null {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (const column of columns) {
    for (const value of column) {
      if (!Number.isFinite(value) || (positive && value <= 0)) continue
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  return min <= max ? { min, max } : null
}

/** Room above and below; a flat line lies in the middle. */
export function padRange(range: Range, log: boolean): Range {
  if (log) return { min: range.min / 1.15, max: range.max * 1.15 }
  if (range.min === range.max) {
    const room = Math.abs(range.min) * 0.1 || 1
    return { min: range.min - room, max: range.max + room }
  }
  const room = (range.max - range.min) * 0.05
  return { min: range.min - room, max: range.max + room }
}

/** Index of the bucket whose x is nearest; -1 when there is none. */
export function nearest(x: Float64Array, at: number): number {
  if (x.length === 0) return -1
  let low = 0
  let high = x.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((x[middle] as number) < at) low = middle + 1
    else high = middle
  }
  if (low > 0 && at - (x[low - 1] as number) < (x[low] as number) - at) return low - 1
  return low
}

/** The x of the point `by` points further than `at`, within the range; from nowhere: an end. */
export function stepFrom(
  x: Float64Array,
  at: number | null,
  by: number,
  range: Range,
): number | null {
  let first = 0
  let last = x.length - 1
  while (first < last && (x[first] as number) < range.min) first++
  while (last > first && (x[last] as number) > range.max) last--
  if (last < first) return null
  const start = at === null ? (by < 0 ? last + 1 : first - 1) : nearest(x, at)
  return x[Math.min(last, Math.max(first, start + by))] as number
}

/** Index of the value nearest to the wanted one and at most `reach` away; -1: none. */
export function nearestTo(values: number[], wanted: number, reach: number): number {
  let found = -1
  let best = reach
  for (const [i, value] of values.entries()) {
    const apart = Math.abs(value - wanted)
    if (apart <= best) {
      best = apart
      found = i
    }
  }
  return found
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Distances between ticks of an axis in milliseconds: what people count time in. */
export const timeSteps: number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((n) => n * DAY),
]

export function countNonpositive(columns: Float64Array[]): number {
  let count = 0
  for (const column of columns) for (const value of column) if (value <= 0) count++
  return count
}

/** Metrics by their prefix before the first slash: "train/loss" belongs to "train". */
export function sectionsOf<T extends { name: string }>(
  metrics: T[],
): { name: string; metrics: T[] }[] {
  const sections = new Map<string, T[]>()
  for (const metric of metrics) {
    const slash = metric.name.indexOf('/')
    const name = slash > 0 ? metric.name.slice(0, slash) : ''
    const list = sections.get(name) ?? []
    list.push(metric)
    sections.set(name, list)
  }
  return [...sections.entries()]
    .map(([name, list]) => ({ name, metrics: list }))
    .sort((a, b) => (a.name === '' ? -1 : b.name === '' ? 1 : a.name.localeCompare(b.name)))
}
