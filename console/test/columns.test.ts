import { describe, expect, it } from 'vitest'
import type { Run, RunColumn } from '../src/api/client'
import { newId } from '../src/base/ids'
import {
  askedColumns,
  defaultColumns,
  isColumn,
  keysSplit,
  keyTitle,
  rowsOf,
  sortParse,
  withTags,
} from '../src/features/runs/columns'
import { accept, complete, findOf, isFilter, within, wordAt } from '../src/features/runs/query'

const offer = (key: string): RunColumn => ({ key, runs: 5, values: 2 })

describe('columns of the runs table', () => {
  it('start with time and money, then what the server offers first', () => {
    const keys = ['config.lr', 'config.seed', 'summary._step', 'summary.loss', 'summary.loss']
    expect(defaultColumns(keys.map(offer)).join(' ')).toBe(
      'state created runtime cost config.lr config.seed summary.loss summary._step',
    )
    const same: RunColumn = { key: 'config.epochs', runs: 5, values: 1 }
    const alone: RunColumn = { key: 'config.lr', runs: 1, values: 1 }
    expect(defaultColumns([same, alone])).not.toContain('config.epochs')
    expect(defaultColumns([same, alone])).toContain('config.lr')
    expect(withTags(['state', 'cost', 'config.lr'])).toEqual(['state', 'cost', 'tags', 'config.lr'])
  })

  it('ask the server only for values that a run does not carry', () => {
    expect(askedColumns(['state', 'config.lr', 'tags', 'metric.loss.min'])).toEqual([
      'config.lr',
      'metric.loss.min',
    ])
    const run = { values: [0.1, null] } as unknown as Run
    const [row] = rowsOf([run], ['config.lr', 'metric.loss.min'])
    expect(row?.values.get('config.lr')).toBe(0.1)
    expect(row?.values.get('metric.loss.min')).toBeNull()
  })

  it('come from addresses only where they are known', () => {
    const known = ['state', 'config.x', 'summary.a.b', 'evil', 'config.'].filter(isColumn)
    expect(known).toEqual(['state', 'config.x', 'summary.a.b'])
    expect(sortParse('-config.lr')).toEqual({ column: 'config.lr', down: true })
    expect(sortParse('nonsense')).toBeNull()
    expect(sortParse('tags')).toBeNull()
  })

  it('have commas between them, and commas in their quotes', () => {
    expect(keysSplit('state,config."a,b",config.lr')).toEqual([
      'state',
      'config."a,b"',
      'config.lr',
    ])
    expect(keysSplit('')).toEqual([])
    expect(keyTitle('config."say \\"x\\""')).toBe('say "x"')
    expect(keyTitle('metric.val/loss.min')).toBe('val/loss.min')
  })
})

describe('the filter box', () => {
  it.each(['brisk', 'resnet-50', 'r4k2m7qwertyu', ''])('takes %o for a part of a name', (text) =>
    expect(isFilter(text)).toBe(false),
  )
  it.each(['lr=1', 'state in (x)', 'tags is null', 'a > b', 'not x'])(
    'takes %o for a filter',
    (text) => expect(isFilter(text)).toBe(true),
  )

  it('joins the filter of a group', () => {
    expect(findOf(' brisk ', 'failed')).toEqual({ filter: '', search: 'brisk', state: 'failed' })
    const find = findOf('a = 1 or b = 2', '')
    expect(within(find, 'c = 3').filter).toBe('(a = 1 or b = 2) and c = 3')
    expect(within(findOf('x', ''), 'c = 3')).toEqual({ filter: 'c = 3', search: 'x', state: '' })
  })

  const keys = [
    'state',
    'started',
    'config.lr',
    'config.stage',
    'config."my state"',
    'summary.last',
  ]

  it('completes the key that is being written', () => {
    expect(wordAt('a = 1 and config.l', 18)).toEqual({ from: 10, word: 'config.l' })
    expect(complete('sta', 3, keys)).toEqual([
      'state',
      'started',
      'config.stage',
      'config."my state"',
    ])
    expect(complete('a = 1 and config.l', 18, keys)).toEqual(['config.lr'])
    expect(complete('(la', 3, keys)).toEqual(['summary.last'])
    expect(accept('sta > 5', 3, 'state')).toEqual({ text: 'state > 5', caret: 6 })
  })

  it.each(['state = sta', 'name = "sta', 'name contains sta', 'name ~ sta'])(
    'completes no value: %s',
    (text) => expect(complete(text, text.length, keys)).toEqual([]),
  )
})

describe('ids', () => {
  it('have the form the server asks for', () => {
    expect(newId('r')).toMatch(/^r[a-z2-7]{12}$/)
    expect(newId('r')).not.toBe(newId('r'))
  })
})
