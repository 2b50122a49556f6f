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
