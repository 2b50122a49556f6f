import { describe, expect, it } from 'vitest'
import { gpusText, type Host, hostGroups, rangesText, ranksOf } from '../src/features/run/hosts'

const gpus = (count: number, name: string) =>
  Array.from({ length: count }, (_, i) => ({ name, uuid: `${name}-${i}`, memory_bytes: 85e9 }))

const host = (name: string, ranks: number[], machine: Host['machine']): Host => ({
  host: name,
  ranks,
  machine,
})

describe('machines of a run', () => {
  it('equal ones stand together, whatever names and ids they have', () => {
    const machine = (i: number) => ({
      host: `n${i}`,
      memory_bytes: 2 ** 41 - i * 4096,
      disk_free_bytes: i,
      gpus: gpus(8, 'H100').map((gpu) => ({ ...gpu, uuid: `${i}` })),
    })
    const hosts = [0, 1, 2].map((i) => host(`n${i}`, [2 * i, 2 * i + 1], machine(i)))
    const other = host('x', [9], { ...machine(3), driver: '550' })
    const groups = hostGroups([hosts[0] as Host, other, hosts[1] as Host, hosts[2] as Host])
    expect(groups.map((group) => group.hosts.map((one) => one.host))).toEqual([
      ['n0', 'n1', 'n2'],
      ['x'],
    ])
    expect(ranksOf(groups[0]?.hosts ?? [])).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('unknown ones are a kind of their own', () => {
    const groups = hostGroups([host('a', [], null), host('b', [], {}), host('c', [], null)])
    expect(groups.map((group) => [group.hosts.length, group.machine])).toEqual([
      [2, null],
      [1, {}],
    ])
  })

  it('ranks are told as ranges and GPUs by kind', () => {
    expect(rangesText([])).toBe('')
    expect(rangesText([0, 1, 2, 5, 8, 9])).toBe('0–2, 5, 8–9')
    expect(gpusText({ gpus: [...gpus(2, 'A'), ...gpus(1, 'B'), {}] })).toBe('2 × A, 1 × B, 1 × GPU')
    expect(gpusText({ gpus: 'odd' })).toBe('')
    expect(gpusText(null)).toBe('')
  })
})
