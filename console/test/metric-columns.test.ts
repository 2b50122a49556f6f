import { describe, expect, it } from 'vitest'
import { readColumns } from '../src/api/columns'

function answer(head: unknown, numbers: number[]): ArrayBuffer {
  let text = JSON.stringify(head)
  text += ' '.repeat((8 - (text.length % 8)) % 8)
  const bytes = new Uint8Array(16 + text.length + numbers.length * 8)
  bytes.set(new TextEncoder().encode('EUVCOL01'))
  new DataView(bytes.buffer).setUint32(8, text.length, true)
  bytes.set(new TextEncoder().encode(text), 16)
  new Float64Array(bytes.buffer, 16 + text.length).set(numbers)
  return bytes.buffer
}

describe('columns', () => {
  it('each series has its own numbers', () => {
    const series = (run: string, buckets: number) => ({
      ...{ run, metric: 'loss', count: 9, not_finite: 1, buckets },
    })
    const read = readColumns(
      answer(
        {
          series_columns: ['x', 'min', 'max', 'first', 'last'],
          series: [series('a', 2), series('b', 1)],
        },
        [0, 1, Number.NaN, 2, Number.NaN, 3, 4, 5, Number.NEGATIVE_INFINITY, 7, 10, 20, 30, 40, 50],
      ),
    )
    expect(read.map((one) => [one.run, [...one.x], [...one.last]])).toEqual([
      ['a', [0, 1], [Number.NEGATIVE_INFINITY, 7]],
      ['b', [10], [50]],
    ])
    expect(read[0]?.min[0]).toBeNaN()
    expect([...(read[1]?.max ?? [])]).toEqual([30])
    expect(read[0]?.notFinite).toBe(1)
  })

  it('something else is refused', () => {
    expect(() =>
      readColumns(new TextEncoder().encode('<html>nothing here</html>').buffer),
    ).toThrow()
  })
})
