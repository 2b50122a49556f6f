import { describe, expect, it } from 'vitest'
import {
  cutMiddle,
  formatAgo,
  formatBytes,
  formatDuration,
  formatMetric,
  formatMoney,
  formatNumber,
  formatValue,
} from '../src/base/format'
import { flatten, toNumber } from '../src/base/values'

describe('numbers', () => {
  it.each([
    [0, '0'],
    [-0, '-0'],
    [1234.5678, '1,234.6'],
    [0.00012, '0.00012'],
    [0.0000123, '1.230e−5'],
    [123456789, '1.235e8'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '∞'],
    [Number.NEGATIVE_INFINITY, '−∞'],
  ])('%d is written %s', (value, text) => expect(formatNumber(value)).toBe(text))

  it('whole numbers of a configuration stay as they were written', () => {
    expect(formatValue(20261130)).toBe('20261130')
    expect(formatValue('Infinity')).toBe('∞')
    expect(formatValue([1, 'a'])).toBe('[1,"a"]')
    expect(formatValue(null)).toBe('–')
  })

  it('JSON numbers with names become floats', () => {
    expect(toNumber('NaN')).toBeNaN()
    expect(toNumber('-Infinity')).toBe(Number.NEGATIVE_INFINITY)
    expect(toNumber(null)).toBeNaN()
    expect(toNumber(2.5)).toBe(2.5)
  })
})

describe('durations, sizes and money', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [4200, '4.2 s'],
    [59_400, '59 s'],
    [59_600, '1 min 0 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [273_600_000, '3 d 4 h'],
  ])('%d ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  it.each([
    [0, '0 B'],
    [1536, '1.5 KiB'],
    [824633720832, '768 GiB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text))

  it('a short run is not free', () => {
    expect(formatMoney(4200, 'EUR')).toBe('€0.0042')
    expect(formatMoney(198_000, 'EUR')).toBe('€0.1980') // points of a column lie under each other
    expect(formatMoney(480_000, 'EUR')).toBe('€0.48')
    expect(formatMoney(18_340_000, 'EUR')).toBe('€18.34')
    expect(formatMoney(0, 'EUR')).toBe('€0.00')
    expect(formatMoney(null, 'EUR')).toBe('–')
  })

  it('times of the last week are relative', () => {
    const now = Date.parse('2026-11-30T12:00:00Z')
    expect(formatAgo('2026-11-30T11:59:58Z', now)).toBe('just now')
    expect(formatAgo('2026-11-30T11:48:00Z', now)).toBe('12 min. ago')
    expect(formatAgo('2026-10-01T00:00:00Z', now)).toBe('Oct 1, 2026')
    expect(formatAgo(null, now)).toBe('never')
  })

  it('long names are cut in the middle', () => {
    expect(cutMiddle('resnet50-lr-0.01-seed-17', 11)).toBe('resne…ed-17')
    expect(cutMiddle('short', 11)).toBe('short')
  })
})

describe('nested values', () => {
  const value = { a: { b: 1, c: [1, 2] }, d: 'x', e: {} }

  it('become rows in their order', () => {
    expect(flatten(value)).toEqual([
      { path: 'a.b', value: 1 },
      { path: 'a.c', value: [1, 2] },
      { path: 'd', value: 'x' },
      { path: 'e', value: {} },
    ])
    expect(flatten(null)).toEqual([])
  })
})

describe('values of metrics', () => {
  it.each([
    ['loss', 1234.5678, '1,235'],
    ['memory.used_bytes', 1.5 * 1024 ** 3, '1.5 GiB'],
    ['disk.read_bytes_per_s', 2048, '2 KiB/s'],
    ['bytes_seen', 2048, '2,048'],
    ['memory.used_bytes', Number.NaN, 'NaN'],
  ])('%s of %d is written %s', (metric, value, text) =>
    expect(formatMetric(metric, value, 4)).toBe(text),
  )
})
