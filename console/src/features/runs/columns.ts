// The columns of the runs table. A column is a key as the server names it: "state", "config.lr",
// "summary.loss", "metric.loss.min". Pure.
import type { Run, RunColumn, RunFigure } from '../../api/client'

export const GENERAL = [
  'state',
  'owner',
  'created',
  'runtime',
  'cost',
  'tags',
  'host',
  'group',
] as const
export type General = (typeof GENERAL)[number]
export type ColumnId = General | `config.${string}` | `summary.${string}` | `metric.${string}`

const SHOWN_FIRST: ColumnId[] = ['state', 'created', 'runtime', 'cost']
const CONFIG_FIRST = 5
const CONFIG_BEFORE = 2 // what was tried stands before what came of it
const SUMMARY_FIRST = 3
const ASKED_MAX = 50 // more would be refused

/** What a filter knows besides the keys of a project. */
export const FIELDS = [
  'state',
  'name',
  'id',
  'owner',
  'host',
  'group',
  'job_type',
  'tags',
  'notes',
  'created',
  'started',
  'ended',
  'runtime',
  'cost',
  'exit_code',
  'git.branch',
  'git.commit',
]

export const isGeneral = (column: string): column is General =>
  (GENERAL as readonly string[]).includes(column)
export const isColumn = (text: string): text is ColumnId =>
  isGeneral(text) || /^(config|summary|metric)\../.test(text)

/** Bookkeeping is not what tells runs apart. */
const isPlain = (key: string): boolean => !/^summary\.(_|cost|epoch$|step$)/.test(key)

/** What is the same in all runs tells none apart. */
const isVarious = (column: RunColumn): boolean => column.values !== 1 || column.runs === 1

/** Time and money come first, then the keys that the server offers first. */
export function defaultColumns(offered: RunColumn[]): ColumnId[] {
  const various = offered.filter(isVarious)
  const keys = [...new Set(various.map((column) => column.key))].filter(isColumn)
  const some = (kind: string, max: number): ColumnId[] => {
    const all = keys.filter((key) => key.startsWith(kind))
    return [...all.filter(isPlain), ...all.filter((key) => !isPlain(key))].slice(0, max)
  }
  const config = some('config.', CONFIG_FIRST)
  return [
    ...SHOWN_FIRST,
    ...config.slice(0, CONFIG_BEFORE),
    ...some('summary.', SUMMARY_FIRST),
    ...config.slice(CONFIG_BEFORE),
  ]
}

/** Tags are shown by themselves where there are any. */
export const withTags = (columns: ColumnId[]): ColumnId[] => {
  const general = columns.filter(isGeneral)
  return [...general, 'tags', ...columns.slice(general.length)]
}

/** Those whose values the server has to be asked for. */
export const askedColumns = (columns: ColumnId[]): ColumnId[] =>
  columns.filter((column) => !isGeneral(column)).slice(0, ASKED_MAX)

export interface Row {
  run: Run
  values: Map<string, unknown>
  figures: Map<string, RunFigure> // where a value comes from, as far as there is something to say
}

export function rowsOf(items: Run[], columns: string[]): Row[] {
  return items.map((run) => ({
    run,
    values: new Map(columns.map((column, i) => [column, run.values?.[i] ?? null])),
    figures: new Map(
      columns.flatMap((column, i) => {
        const figure = run.figures?.[i]
        return figure ? [[column, figure] as const] : []
      }),
    ),
  }))
}

/** A key without its kind and quotes: what stands above a column. */
export function keyTitle(column: string): string {
  const name = column.slice(column.indexOf('.') + 1)
  return name.replace(/"((?:[^"\\]|\\.)*)"/, (_, inner: string) => inner.replace(/\\(.)/g, '$1'))
}

/** Columns whose values say which figure they are: they need the room. */
export function figuredColumns(rows: Row[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { figures } of rows)
    for (const [column, { figure, goal }] of figures)
      if (goal || (figure !== null && figure !== 'last')) found.add(column)
  return found
}

const FIGURE_PX = 48

export function columnWidth(column: ColumnId, figured = false): number {
  switch (column) {
    case 'state':
    case 'created':
      return 128
    case 'owner':
    case 'host':
    case 'group':
      return 110
    case 'runtime':
      return 104
    case 'cost':
      return 92
    case 'tags':
      return 150
    default:
      return (
        Math.min(190, Math.max(92, (keyTitle(column).length + 1) * 7 + 26)) +
        (figured ? FIGURE_PX : 0)
      )
  }
}

export const isNumeric = (column: ColumnId): boolean =>
  column === 'runtime' || column === 'cost' || !isGeneral(column)
export const isSortable = (column: ColumnId | 'name'): boolean => column !== 'tags'

export interface Sort {
  column: ColumnId | 'name'
  down: boolean
}

export function sortParse(text: string): Sort | null {
  const column = text.replace(/^-/, '')
  if ((column !== 'name' && !isColumn(column)) || !isSortable(column)) return null
  return { column, down: text.startsWith('-') }
}

/** Keys with commas between; a comma in quotes belongs to its key. */
export function keysSplit(text: string): string[] {
  return text.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []
}
