import { QueryClient } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../src/api/client'
import { liveRefresher, shouldRetry } from '../src/api/queries'

const project = 'vision'
const keys = [
  ['run', 'r1'],
  ['run', 'r2'],
  ['runs', project, {}],
  ['runs', 'other', {}],
  ['metrics', 'metric', 'r1', 'r2'],
  ['metrics', 'system', 'r3'],
  ['series', ['r2', 'r1'], {}],
  ['series', ['r3'], {}],
  ['jobs', ''],
  ['job', 'j1'],
  ['job', 'j1', 'events'],
  ['agents'],
]

let queries: QueryClient
const stale = (): string[] =>
  keys.filter((key) => queries.getQueryState(key)?.isInvalidated).map((key) => JSON.stringify(key))

beforeEach(() => {
  vi.useFakeTimers()
  queries = new QueryClient()
  for (const key of keys) queries.setQueryData(key, 1)
})
afterEach(() => vi.useRealTimers())

describe('a live event', () => {
  it.each([
    [
      'run',
      'r1',
      [
        ['run', 'r1'],
        ['runs', project, {}],
      ],
    ],
    [
      'metrics',
      'r1',
      [
        ['run', 'r1'],
        ['metrics', 'metric', 'r1', 'r2'],
        ['series', ['r2', 'r1'], {}],
      ],
    ],
    ['job', 'j1', [['jobs', ''], ['job', 'j1'], ['job', 'j1', 'events'], ['agents']]],
    ['agent', 'a1', [['agents']]],
  ] as const)('about a %s makes stale what shows it, and nothing else', (kind, id, wanted) => {
    liveRefresher(queries)({ kind, id, project })
    expect(stale()).toEqual([])
    vi.advanceTimersByTime(1000)
    expect(stale()).toEqual(wanted.map((key) => JSON.stringify(key)))
  })

  it('after a break everything is asked again', () => {
    liveRefresher(queries)({ kind: 'refresh', id: '', project: '' })
    vi.advanceTimersByTime(1000)
    expect(stale()).toHaveLength(keys.length)
  })

  it('a burst costs one refresh', () => {
    const spy = vi.spyOn(queries, 'invalidateQueries')
    const hear = liveRefresher(queries)
    for (let i = 0; i < 50; i++) hear({ kind: 'metrics', id: 'r1', project })
    vi.advanceTimersByTime(1000)
    expect(spy).toHaveBeenCalledTimes(1)
  })
})

describe('a failed question', () => {
  it('is repeated only where that can help', () => {
    expect(shouldRetry(0, new ApiError(403, {}))).toBe(false)
    expect(shouldRetry(0, new ApiError(503, {}))).toBe(true)
    expect(shouldRetry(0, new ApiError(0, {}))).toBe(true)
    expect(shouldRetry(2, new ApiError(0, {}))).toBe(false)
  })
})
