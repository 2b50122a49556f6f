// Nested configuration and summary as flat rows, and numbers as the server writes them.

/** A float64 in JSON: NaN and the infinities are strings. */
export type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity' | null

export function toNumber(value: JsonNumber | undefined): number {
  if (value === null || value === undefined) return Number.NaN
  return typeof value === 'number' ? value : Number(value)
}

export interface FlatRow {
  path: string
  value: unknown
}

const ROWS_MAX = 5000

/** {a: {b: 1}} -> a.b = 1. Lists stay whole; empty objects are shown. No recursion: bounded input. */
export function flatten(value: unknown): FlatRow[] {
  const rows: FlatRow[] = []
  const stack: FlatRow[] = [{ path: '', value }]
  while (stack.length > 0 && rows.length < ROWS_MAX) {
    const at = stack.pop() as FlatRow
    const isObject = typeof at.value === 'object' && at.value !== null && !Array.isArray(at.value)
    const entries = isObject ? Object.entries(at.value as Record<string, unknown>) : []
    if (!isObject || (entries.length === 0 && at.path !== '')) {
      if (at.path !== '') rows.push(at)
      continue
    }
    for (const [key, inner] of entries.reverse()) {
      stack.push({ path: at.path ? `${at.path}.${key}` : key, value: inner })
    }
  }
  return rows
}

/** The value at a.b.c, also where a key has dots in it. */
export function valueAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const record = value as Record<string, unknown>
  if (path in record) return record[path]
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const head = path.slice(0, dot)
    if (head in record) return valueAt(record[head], path.slice(dot + 1))
  }
  return undefined
}

/** Which keys differ most between these objects: many values first, then many holders. */
export function keysByVariety(objects: unknown[]): string[] {
  const values = new Map<string, Set<string>>()
  const holders = new Map<string, number>()
  for (const object of objects) {
    for (const row of flatten(object)) {
      const set = values.get(row.path) ?? new Set<string>()
      set.add(JSON.stringify(row.value))
      values.set(row.path, set)
      holders.set(row.path, (holders.get(row.path) ?? 0) + 1)
    }
  }
  return [...values.keys()].sort((a, b) => {
    const byValues = (values.get(b)?.size ?? 0) - (values.get(a)?.size ?? 0)
    if (byValues !== 0) return byValues
    const byHolders = (holders.get(b) ?? 0) - (holders.get(a) ?? 0)
    return byHolders !== 0 ? byHolders : a.localeCompare(b)
  })
}

/** Orders numbers as numbers and everything else as text; what is missing comes last. */
export function compareValues(a: unknown, b: unknown): number {
  const missing = (x: unknown): boolean => x === undefined || x === null || x === 'NaN'
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b))
  const numbers = [a, b].map((x) => (x === 'Infinity' || x === '-Infinity' ? Number(x) : x))
  if (typeof numbers[0] === 'number' && typeof numbers[1] === 'number')
    return numbers[0] - numbers[1]
  return String(a).localeCompare(String(b), undefined, { numeric: true })
}
