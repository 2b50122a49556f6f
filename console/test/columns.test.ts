import { describe, expect, it } from 'vitest'
import type { Run } from '../src/api/client'
import { newId } from '../src/base/ids'
import {
  allKeys,
  columnValue,
  defaultColumns,
  isColumn,
  sortParse,
} from '../src/features/runs/columns'
import { waitingText } from '../src/widgets/waiting'

function run(config: object, summary: object, tags: string[] = []): Run {
  return {
    state: 'finished',
    owner: 'ada',
    duration_ms: 5,
    cost_micro: null,
    tags,
    config,
    summary,
  } as unknown as Run
}

describe('columns of the runs table', () => {
  const runs = [
    run({ lr: 0.1, seed: 1, o: { name: 'a' } }, { loss: 1 }),
    run({ lr: 0.1, seed: 2 }, { loss: 2, note: 'x' }),
  ]

  it('start with what tells runs apart', () => {
    expect(defaultColumns(runs)).toEqual([
      'state',
      'created',
      'duration',
      'cost',
      'summary:loss',
      'summary:note',
      'config:seed',
      'config:lr',
      'config:o.name',
    ])
    expect(defaultColumns([run({}, {}, ['t'])])).toContain('tags')
  })

  it('find nested values', () => {
    expect(columnValue(runs[0] as Run, 'config:o.name')).toBe('a')
    expect(columnValue(runs[1] as Run, 'config:o.name')).toBeUndefined()
    expect(allKeys(runs, 'config')).toEqual(['lr', 'o.name', 'seed'])
  })

  it('come from addresses only where they are known', () => {
    expect(['state', 'config:x', 'summary:a.b', 'evil', 'config:'].map(isColumn)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    expect(sortParse('-config:lr')).toEqual({ column: 'config:lr', down: true })
    expect(sortParse('nonsense')).toBeNull()
  })
})

describe('why a job waits', () => {
  it('is said with its numbers', () => {
    const waiting = {
      code: 'busy',
      text: '',
      asked: 4,
      free: 1,
      resource: 'cpus',
      rank: 3,
    } as const
    expect(waitingText(waiting)).toBe(
      'All fitting agents are busy. It asks for 4 (cores); free now: 1. 2 jobs are ahead.',
    )
    expect(waitingText({ code: 'no_agent', text: '', rank: 1 })).toBe(
      'No agent is online. It is next in line.',
    )
  })

  it('falls back to the words of a newer server', () => {
    expect(waitingText({ code: 'quota' as 'busy', text: 'quota is used up' })).toBe(
      'quota is used up',
    )
  })
})

describe('ids', () => {
  it('have the form the server asks for', () => {
    expect(newId('r')).toMatch(/^r[a-z2-7]{12}$/)
    expect(newId('r')).not.toBe(newId('r'))
  })
})
