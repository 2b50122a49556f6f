import { describe, expect, it } from 'vitest'
import { walk } from '../src/features/runs/walk'

const extent = { rows: 100, columns: 5, page: 20 }
const at = (row: number, column: number, key: string, ctrl = false) => {
  const next = walk({ row, column }, key, ctrl, extent)
  return next && [next.row, next.column]
}

describe('walking a table', () => {
  it('arrows go by one and stop at the edges, the heads included', () => {
    expect(at(-1, 0, 'ArrowDown')).toEqual([0, 0])
    expect(at(0, 2, 'ArrowUp')).toEqual([-1, 2])
    expect(at(-1, 2, 'ArrowUp')).toEqual([-1, 2])
    expect(at(99, 4, 'ArrowDown')).toEqual([99, 4])
    expect(at(5, 4, 'ArrowRight')).toEqual([5, 4])
    expect(at(5, 0, 'ArrowLeft')).toEqual([5, 0])
  })

  it('longer ways end in the table', () => {
    expect(at(90, 1, 'PageDown')).toEqual([99, 1])
    expect(at(10, 1, 'PageUp')).toEqual([0, 1])
    expect(at(7, 3, 'Home')).toEqual([7, 0])
    expect(at(7, 3, 'End')).toEqual([7, 4])
    expect(at(7, 3, 'Home', true)).toEqual([0, 0])
    expect(at(7, 3, 'End', true)).toEqual([99, 4])
  })

  it('other keys are left alone', () => {
    expect(at(0, 0, 'j')).toBeNull()
    expect(at(0, 0, 'ArrowDown', true)).toBeNull()
  })
})
