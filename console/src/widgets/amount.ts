// Amounts of hardware in words: "4 cores", "8 GPUs", "64 GiB of memory".
import type { Job } from '../api/client'
import { formatBytes, formatNumber } from '../base/format'
import { t } from '../base/i18n'

/** An amount of a resource, under the name that the API has for it. */
export function amountText(resource: string | undefined, n: number): string {
  switch (resource) {
    case 'cpus':
      return t('amount.cpus', { n })
    case 'gpus':
      return t('amount.gpus', { n })
    case 'memory':
    case 'memory_bytes':
      return t('amount.memory', { size: formatBytes(n) })
    case 'slots':
      return t('amount.slots', { n })
    default:
      return t('amount.machines', { n })
  }
}

export interface Need {
  gpus: number
  cpus: number
  memoryBytes: number
  nodes: number
}

/** What a job asks for on each machine, and on how many. */
export function needOf({ spec }: Pick<Job, 'spec'>): Need {
  return {
    gpus: spec.gpus ?? 0,
    cpus: Math.max(1, spec.cpus ?? 0),
    memoryBytes: spec.memory_bytes ?? 0,
    nodes: spec.nodes ?? 1,
  }
}

/** The targets a job names, in its order; empty: any. */
export const namedTargets = ({ spec }: Pick<Job, 'spec'>): string[] =>
  spec.target ? [spec.target] : (spec.targets ?? []).map((one) => one.target)

/** "2 machines, each 8 GPUs, 16 cores". */
export function needText(need: Need): string {
  const words: string[] = []
  if (need.gpus > 0) words.push(amountText('gpus', need.gpus))
  words.push(amountText('cpus', need.cpus))
  if (need.memoryBytes > 0) words.push(amountText('memory', need.memoryBytes))
  const what = words.join(', ')
  if (need.nodes < 2) return what
  return t('amount.each', { machines: t('amount.machines', { n: need.nodes }), what })
}

const HOUR_MS = 3_600_000

/** GPU milliseconds as hours: one digit, which is what an hour's price needs. */
export const gpuHours = (gpuMs: number): number => Math.round(gpuMs / (HOUR_MS / 10)) / 10

/** Energy in kWh, of millijoules. */
export const energyText = (millijoules: number): string =>
  t('job.energy_kwh', { n: formatNumber(millijoules / 3.6e9, 3) })
