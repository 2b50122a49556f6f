// What is told of machines, and which come first.
import type { MachineNode, NodeGpu } from '../../api/client'
import { formatBytes, formatInteger, formatTime } from '../../base/format'
import { type Key, t } from '../../base/i18n'
import type { IconName } from '../../widgets/icon'

export interface Warning {
  icon: IconName
  text: string
  grave: boolean
}

// The agent's words for what GPUs have, in ours.
const ILL: [RegExp, Key][] = [
  [/^it has fallen off the bus, or needs a reset$/, 'gpu.lost'],
  [/^it does not answer$/, 'gpu.silent'],
  [/^the driver reported Xid (\d+)$/, 'gpu.xid'],
  [/^(\d+) memory errors could not be corrected/, 'gpu.errors'],
  [/^it needs a reset to replace bad memory rows$/, 'gpu.rows'],
  [/^the driver does not answer$/, 'gpu.driver_silent'],
  [/^the (?:driver|agent) does not name it any more$/, 'gpu.gone'],
]

export function illText(reason: string): string {
  for (const [pattern, key] of ILL) {
    const match = pattern.exec(reason)
    if (match) return t(key, { n: match[1] ?? '' })
  }
  return reason
}

/** What somebody should know of a machine, the worst first. */
export function warningsOf(node: MachineNode): Warning[] {
  const found: Warning[] = []
  const say = (icon: IconName, text: string, grave: boolean): void =>
    void found.push({ icon, text, grave })
  for (const gpu of node.gpus) {
    if (gpu.ill)
      say('warning', t('node.gpu_ill', { place: gpu.place, reason: illText(gpu.ill) }), true)
  }
  const { maintenance } = node
  if (maintenance?.until) {
    const until = formatTime(maintenance.until)
    say('clock', t('node.draining_until', { until, reason: maintenance.reason }), false)
  } else if (maintenance) {
    say('clock', t('node.draining', { reason: maintenance.reason }), false)
  }
  if (node.excluded) say('stop', t('node.excluded'), false)
  for (const gpu of node.gpus) {
    if (gpu.ill) continue
    if (gpu.used_by) {
      say('user', t('node.gpu_used', { place: gpu.place, who: gpu.used_by }), false)
    }
    if (gpu.mig) say('split', t('node.gpu_mig', { place: gpu.place }), false)
  }
  return found
}

/** 0: ill or away; 1: draining or left out; 2: with other warnings; 3: well. */
function rankOf(node: MachineNode): number {
  if (node.state !== 'online' || node.gpus.some((gpu) => gpu.ill)) return 0
  if (node.maintenance || node.excluded) return 1
  return warningsOf(node).length > 0 ? 2 : 3
}

export const inOrder = (nodes: MachineNode[]): MachineNode[] =>
  [...nodes].sort((a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name))

export const percentText = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : `${formatInteger(Math.round(value))} %`

/** Memory in use, of how much. */
export function memoryText(gpu: NodeGpu): string {
  const used = gpu.now.memory_bytes === null ? '–' : formatBytes(gpu.now.memory_bytes)
  return `${used} / ${formatBytes(gpu.memory_bytes)}`
}
