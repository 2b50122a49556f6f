import { describe, expect, it } from 'vitest'
import { colourIndex, coloursFor } from '../src/base/colours'
import { Crosshair } from '../src/charts/core/crosshair'
import {
  countNonpositive,
  nearest,
  nearestTo,
  padRange,
  rangeOf,
  sectionsOf,
  smooth,
  stepFrom,
  timeSteps,
} from '../src/charts/core/series'

const floats = (...values: number[]): Float64Array => Float64Array.from(values)

describe('series', () => {
  it('smoothing is debiased and leaves gaps', () => {
    const out = smooth(floats(4, 4, Number.NaN, 4), 0.9)
    expect(out[0]).toBeCloseTo(4)
    expect(out[1]).toBeCloseTo(4)
    expect(out[2]).toBeNaN()
    expect(out[3]).toBeCloseTo(4)
    const same = floats(1, 2)
    expect(smooth(same, 0)).toBe(same)
  })

  it('ranges skip what is not finite, and what a logarithm cannot show', () => {
    const column = floats(-1, 5, Number.NaN, Number.POSITIVE_INFINITY, 0.1)
    expect(rangeOf([column])).toEqual({ min: -1, max: 5 })
    expect(rangeOf([column], true)).toEqual({ min: 0.1, max: 5 })
    expect(rangeOf([floats(Number.NaN)])).toBeNull()
    expect(countNonpositive([column])).toBe(1)
  })

  it('a flat line lies in the middle', () => {
    expect(padRange({ min: 2, max: 2 }, false)).toEqual({ min: 1.8, max: 2.2 })
    expect(padRange({ min: 0, max: 0 }, false)).toEqual({ min: -1, max: 1 })
  })

  it('the nearest bucket is found from both sides', () => {
    const x = floats(0, 10, 20)
    expect([-5, 4, 6, 10, 15, 99].map((at) => nearest(x, at))).toEqual([0, 0, 1, 1, 2, 2])
    expect(nearest(floats(), 1)).toBe(-1)
  })

  it('metrics are grouped by prefix, those without first', () => {
    const names = ['val/loss', 'epoch', 'train/loss', 'train/acc'].map((name) => ({ name }))
    expect(sectionsOf(names).map((one) => [one.name, one.metrics.length])).toEqual([
      ['', 1],
      ['train', 2],
      ['val', 1],
    ])
  })
})

describe('colours', () => {
  it('belong to the run, on every screen', () => {
    expect(colourIndex('raaaaaaaaaaaa')).toBe(colourIndex('raaaaaaaaaaaa'))
    const alone = coloursFor(['raaaaaaaaaaaa'], false).get('raaaaaaaaaaaa')
    expect(coloursFor(['raaaaaaaaaaaa', 'rb'], false).get('raaaaaaaaaaaa')).toBe(alone)
  })

  it('differ among up to 20 runs shown together', () => {
    const ids = Array.from({ length: 20 }, (_, i) => `r${i}`)
    expect(new Set(coloursFor(ids, true).values()).size).toBe(20)
    expect(coloursFor([...ids, 'r99'], true).size).toBe(21)
  })
})

describe('crosshair', () => {
  it('tells the others once a change', () => {
    const crosshair = new Crosshair()
    const heard: (number | null)[] = []
    const stop = crosshair.watch((cursor) => heard.push(cursor.x))
    const chart = {}
    crosshair.move(1, chart)
    crosshair.move(1, chart)
    crosshair.move(null, chart)
    stop()
    crosshair.move(2, chart)
    expect(heard).toEqual([1, null])
  })
})

describe('walking along a line', () => {
  const x = floats(0, 10, 20, 30, 40)
  const all = { min: 0, max: 40 }

  it('goes to the neighbours and stops at the ends', () => {
    expect(stepFrom(x, 11, 1, all)).toBe(20)
    expect(stepFrom(x, 11, -1, all)).toBe(0)
    expect(stepFrom(x, 30, 10, all)).toBe(40)
    expect(stepFrom(x, 30, -Number.MAX_SAFE_INTEGER, all)).toBe(0)
  })

  it('begins at an end, stays in what is shown, and knows that nothing is there', () => {
    expect(stepFrom(x, null, 1, all)).toBe(0)
    expect(stepFrom(x, null, -1, all)).toBe(40)
    expect(stepFrom(x, null, 0, all)).toBe(0)
    expect(stepFrom(x, null, Number.MAX_SAFE_INTEGER, all)).toBe(40)
    expect(stepFrom(x, 30, 1, { min: 5, max: 35 })).toBe(30)
    expect(stepFrom(x, 10, -1, { min: 5, max: 35 })).toBe(10)
    expect(stepFrom(floats(), null, 1, all)).toBeNull()
  })
})

it('the line that is pointed at is the nearest within reach; what is no number never is', () => {
  expect(nearestTo([10, 50, 90], 55, 40)).toBe(1)
  expect(nearestTo([10, 50, 90], 200, 40)).toBe(-1)
  expect(nearestTo([Number.NaN, 50], 49, 40)).toBe(1)
  expect(nearestTo([], 0, 40)).toBe(-1)
})

it('ticks of time grow, and are such as clocks show', () => {
  expect(timeSteps.every((step, i) => i === 0 || step > (timeSteps[i - 1] ?? 0))).toBe(true)
  expect(timeSteps).toContain(900_000)
})

describe('the pin', () => {
  it('stays while the pointer goes on, and goes with its chart', () => {
    const crosshair = new Crosshair()
    const [a, b] = [{}, {}]
    crosshair.move(3, a)
    crosshair.pin(3, a)
    crosshair.move(7, b)
    expect(crosshair.now).toEqual({ x: 7, source: b, pin: 3, pinned: a })
    crosshair.leave(b)
    expect(crosshair.now.x).toBeNull()
    expect(crosshair.now.pin).toBe(3)
    crosshair.leave(a)
    expect(crosshair.now.pinned).toBeNull()
  })

  it('is one: pinning elsewhere moves it, and each change is told once', () => {
    const crosshair = new Crosshair()
    const told: (number | null)[] = []
    crosshair.watch((cursor) => told.push(cursor.pin))
    crosshair.pin(1, {})
    crosshair.pin(2, {})
    crosshair.unpin()
    crosshair.unpin()
    expect(told).toEqual([1, 2, null])
  })
})
