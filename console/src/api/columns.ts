// Answers to chart queries in their binary form (docs/internals/metric-store.md): the JSON without
// the columns, then the columns as float64, which are used where they lie.
const MAGIC = 'EUVCOL01'
const HEAD = 16

export interface MetricColumns {
  run: string
  metric: string
  count: number
  notFinite: number
  rank: number | null | undefined // of which process; undefined: of all together
  host: string | undefined
  hidden: boolean // steps that were set aside
  x: Float64Array // of the first point of each bucket
  last: Float64Array
  min: Float64Array // NaN: no point of the bucket is finite
  max: Float64Array
}

interface Head {
  series_columns: string[]
  series: {
    run: string
    metric: string
    rank?: number | null
    host?: string
    hidden?: boolean
    count: number
    not_finite: number
    buckets: number
  }[]
}

export function readColumns(bytes: unknown): MetricColumns[] {
  if (!(bytes instanceof ArrayBuffer)) throw new Error('not an answer in columns')
  const text = (from: number, to: number) =>
    new TextDecoder().decode(new Uint8Array(bytes, from, to - from))
  if (bytes.byteLength < HEAD || text(0, 8) !== MAGIC) throw new Error('not an answer in columns')
  const length = new DataView(bytes).getUint32(8, true)
  const head = JSON.parse(text(HEAD, HEAD + length)) as Head
  let at = HEAD + length
  return head.series.map((one) => {
    const columns = new Map<string, Float64Array>()
    for (const name of head.series_columns) {
      columns.set(name, new Float64Array(bytes, at, one.buckets))
      at += one.buckets * 8
    }
    const column = (name: string) => columns.get(name) ?? new Float64Array(one.buckets)
    return {
      run: one.run,
      metric: one.metric,
      count: one.count,
      notFinite: one.not_finite,
      rank: one.rank,
      host: one.host,
      hidden: one.hidden ?? false,
      x: column('x'),
      last: column('last'),
      min: column('min'),
      max: column('max'),
    }
  })
}
