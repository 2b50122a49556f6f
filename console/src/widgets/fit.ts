// Where a job fits now: what its targets have free, machine by machine, or why it does not.
import type { Agent, Queue, Share, Target } from '../api/client'
import { t } from '../base/i18n'
import type { Need } from './amount'
import { shareName } from './shares'

export interface Asked extends Need {
  gpuTypes?: string[] // any of these; empty: any at all
}

export interface Fit {
  target: Target
  fits: boolean
  machines: number // that could take one part of it now
  text: string
}

const sameType = (have: string | undefined, types: string[]): boolean =>
  types.length === 0 || types.some((type) => type.toLowerCase() === (have ?? '').toLowerCase())

const largeEnough = (agent: Agent, need: Asked): boolean =>
  (agent.gpus ?? 0) >= need.gpus &&
  (agent.cpus ?? 0) >= need.cpus &&
  (agent.memory_bytes ?? 0) >= need.memoryBytes

const freeEnough = (agent: Agent, need: Asked): boolean =>
  (agent.gpus_free ?? 0) >= need.gpus &&
  (agent.cpus_free ?? 0) >= need.cpus &&
  (agent.memory_free_bytes ?? 0) >= need.memoryBytes &&
  (agent.slots ?? 1) > (agent.running ?? 0)

/** Of one target. */
export function fitOf(target: Target, agents: Agent[], need: Asked): Fit {
  const not = (text: string, machines = 0): Fit => ({ target, fits: false, machines, text })
  if (target.maintenance) return not(t('fit.maintenance', { reason: target.maintenance.reason }))
  const there = agents.filter(
    (agent) =>
      agent.target === target.name &&
      agent.state === 'online' &&
      !target.excluded.includes(agent.name),
  )
  if (there.length === 0) return not(t('fit.no_agent'))
  const serving = there.filter((agent) => !agent.maintenance)
  const rest = there.find((agent) => agent.maintenance)?.maintenance
  if (serving.length === 0) return not(t('fit.maintenance', { reason: rest?.reason ?? '' }))
  const types = need.gpus > 0 ? (need.gpuTypes ?? []) : []
  const ofType = serving.filter((agent) => sameType(agent.gpu_type, types))
  if (ofType.length === 0) return not(t('fit.gpu_type', { type: types.join(', ') }))
  const large = ofType.filter((agent) => largeEnough(agent, need))
  if (large.length === 0) return not(t('fit.too_big'))
  if (large.length < need.nodes) return not(t('fit.too_few', { n: large.length }))
  const machines = large.filter((agent) => freeEnough(agent, need)).length
  if (machines < need.nodes) return not(t('fit.busy'), machines)
  return { target, fits: true, machines, text: t('fit.now', { n: machines }) }
}

/** What else keeps a job from a target: its queue and the shares above its project. */
export function closedBy(target: string, queue: Queue | undefined, shares: Share[]): string | null {
  if (queue && queue.targets.length > 0 && !queue.targets.includes(target))
    return t('fit.closed_queue')
  const share = shares.find((one) => one.targets.length > 0 && !one.targets.includes(target))
  return share ? t('fit.closed_share', { share: shareName(share) }) : null
}
