// The machines of a run: equal ones stand together, as a cluster is mostly made of one kind. Pure.

export type Machine = Record<string, unknown>
export interface Host {
  host: string // may be empty
  ranks: number[] // ascending
  machine: Machine | null
}

export interface HostGroup {
  key: string
  hosts: Host[]
  machine: Machine | null // of the first of them
}

const GIB = 1 << 30

const record = (value: unknown): Machine =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Machine) : {}

export const gpusOf = (machine: Machine | null): Machine[] =>
  Array.isArray(machine?.gpus) ? machine.gpus.map(record) : []

const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What makes two machines equal. Memory differs by what each kernel keeps for itself: whole GiB. */
function likeness(machine: Machine | null): string {
  if (!machine) return ''
  const { os, kernel, arch, cpu, driver, cuda, memory_limit_bytes } = machine
  const memory = Math.round(number(machine.memory_bytes) / GIB)
  const gpus = gpusOf(machine).map((gpu) => [gpu.name, gpu.memory_bytes])
  return JSON.stringify([os, kernel, arch, cpu, driver, cuda, memory_limit_bytes, memory, gpus])
}

/** In the order of the first of each kind. */
export function hostGroups(hosts: readonly Host[]): HostGroup[] {
  const groups = new Map<string, HostGroup>()
  for (const host of hosts) {
    const { machine } = host
    const key = likeness(machine)
    const group = groups.get(key)
    if (group) group.hosts.push(host)
    else groups.set(key, { key, hosts: [host], machine })
  }
  return [...groups.values()]
}

/** Every rank of a group, ascending. */
export const ranksOf = (hosts: readonly Host[]): number[] =>
  [...new Set(hosts.flatMap((host) => host.ranks))].sort((a, b) => a - b)

/** [0, 1, 2, 5] -> "0–2, 5". */
export function rangesText(numbers: readonly number[]): string {
  const parts: string[] = []
  for (let i = 0; i < numbers.length; ) {
    const first = numbers[i] as number
    let last = first
    for (i += 1; numbers[i] === last + 1; i += 1) last += 1
    parts.push(last > first ? `${first}–${last}` : `${first}`)
  }
  return parts.join(', ')
}

/** "8 × NVIDIA H100 80GB"; empty where there is none. */
export function gpusText(machine: Machine | null): string {
  const counts = new Map<string, number>()
  for (const gpu of gpusOf(machine)) {
    const name = text(gpu.name) || 'GPU'
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
}

export interface MachineFacts {
  cpu: string
  threads: number // 0: not known
  memoryBytes: number
  driver: string
  cuda: string
}

export function machineFacts(machine: Machine | null): MachineFacts {
  const cpu = record(machine?.cpu)
  return {
    cpu: text(cpu.model),
    threads: number(cpu.threads),
    memoryBytes: number(machine?.memory_bytes),
    driver: text(machine?.driver),
    cuda: text(machine?.cuda),
  }
}
