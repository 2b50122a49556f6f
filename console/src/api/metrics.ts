// The metrics of several runs as one list: what a board of charts has panels for. Pure.
import type { Metric } from './client'

export interface SharedMetric extends Metric {
  axis: string // the metric that it is drawn over; empty: its steps
  axisDiffers: boolean // not all of the runs say the same
}

/** What most say; of equals the one that was met first. */
function mostly(counts: Map<string, number>): string {
  let best = ''
  let most = 0
  for (const [value, count] of counts) {
    if (count > most) {
      best = value
      most = count
    }
  }
  return best
}

/** By name, each once; runs that do not have a metric have no say in how it is drawn. */
export function metricsJoin(lists: Metric[][]): SharedMetric[] {
  const byName = new Map<string, { metric: Metric; axes: Map<string, number> }>()
  for (const metric of lists.flat()) {
    let known = byName.get(metric.name)
    if (known) known.metric.count += metric.count
    else {
      known = { metric: { ...metric }, axes: new Map() }
      byName.set(metric.name, known)
    }
    const axis = metric.step_metric ?? ''
    known.axes.set(axis, (known.axes.get(axis) ?? 0) + 1)
  }
  return [...byName.values()]
    .map(({ metric, axes }) => ({ ...metric, axis: mostly(axes), axisDiffers: axes.size > 1 }))
    .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }))
}
