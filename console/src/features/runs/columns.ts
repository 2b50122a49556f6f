// The columns of the runs table: which there are, what they hold, which are shown at first. Pure.
import type { Run } from '../../api/client'
import { flatten, keysByVariety, valueAt } from '../../base/values'

export type ColumnId =
  | 'state'
  | 'owner'
  | 'created'
  | 'duration'
  | 'cost'
  | 'tags'
  | `config:${string}`
  | `summary:${string}`

export const GENERAL: ColumnId[] = ['state', 'owner', 'created', 'duration', 'cost', 'tags']
const SHOWN_FIRST: ColumnId[] = ['state', 'created', 'duration', 'cost']
const CONFIG_FIRST = 5
const SUMMARY_FIRST = 3

export const isColumn = (text: string): text is ColumnId =>
  GENERAL.includes(text as ColumnId) || /^(config|summary):./.test(text)

/** Time and money come first, then the keys that tell runs apart. */
export function defaultColumns(runs: Run[]): ColumnId[] {
  const sample = runs.slice(0, 200)
  const config = keysByVariety(sample.map((run) => run.config)).slice(0, CONFIG_FIRST)
  const summary = summaryKeys(sample).slice(0, SUMMARY_FIRST)
  const tags: ColumnId[] = sample.some((run) => run.tags.length > 0) ? ['tags'] : []
  return [
    ...SHOWN_FIRST,
    ...tags,
    ...summary.map((key): ColumnId => `summary:${key}`),
    ...config.map((key): ColumnId => `config:${key}`),
  ]
}

/** Summary keys with numbers before others, bookkeeping last. */
function summaryKeys(runs: Run[]): string[] {
  const numbers = new Map<string, number>()
  for (const run of runs) {
    for (const row of flatten(run.summary)) {
      const isNumber = typeof row.value === 'number' ? 1 : 0
      numbers.set(row.path, Math.max(numbers.get(row.path) ?? 0, isNumber))
    }
  }
  const rank = (key: string): number =>
    (numbers.get(key) === 1 ? 0 : 2) + (/^(_|cost|epoch$|step$)/.test(key) ? 1 : 0)
  return [...numbers.keys()].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
}

export function allKeys(runs: Run[], kind: 'config' | 'summary'): string[] {
  const keys = new Set<string>()
  for (const run of runs) for (const row of flatten(run[kind])) keys.add(row.path)
  return [...keys].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))
}

/** What a column sorts by. */
export function columnValue(run: Run, column: ColumnId): unknown {
  switch (column) {
    case 'state':
      return run.state
    case 'owner':
      return run.owner
    case 'created':
      return run.created_at
    case 'duration':
      return run.duration_ms
    case 'cost':
      return run.cost_micro
    case 'tags':
      return run.tags.join(' ')
    default: {
      const [kind, ...rest] = column.split(':')
      return valueAt(kind === 'config' ? run.config : run.summary, rest.join(':'))
    }
  }
}

export function columnWidth(column: ColumnId): number {
  switch (column) {
    case 'state':
      return 128
    case 'owner':
      return 110
    case 'created':
      return 128
    case 'duration':
      return 104
    case 'cost':
      return 92
    case 'tags':
      return 150
    default:
      return Math.min(190, Math.max(92, (column.length - column.indexOf(':')) * 7 + 26))
  }
}

export const isNumeric = (column: ColumnId): boolean =>
  column === 'duration' || column === 'cost' || column.includes(':')

export interface Sort {
  column: ColumnId | 'name'
  down: boolean
}

export function sortParse(text: string): Sort | null {
  const column = text.replace(/^-/, '')
  if (column !== 'name' && !isColumn(column)) return null
  return { column, down: text.startsWith('-') }
}
