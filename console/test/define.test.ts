import { describe, expect, it } from 'vitest'
import type { Metric, Run, RunFigure } from '../src/api/client'
import { metricsJoin } from '../src/api/metrics'
import { Crosshairs } from '../src/charts/core/crosshair'
import { bestOrders, goalOf } from '../src/features/runs/best'
import { columnWidth, figuredColumns, type Row, rowsOf } from '../src/features/runs/columns'
import { figureText } from '../src/widgets/figure'

const metric = (name: string, axis: string | null, count = 1): Metric => ({
  name,
  kind: 'metric',
  count,
  step_metric: axis,
  summary: 'last',
  goal: null,
})

describe('the metrics of several runs', () => {
  it('are drawn over what most of their runs say, and say when not all do', () => {
    const joined = metricsJoin([
      [metric('loss', 'epoch', 3), metric('acc', null)],
      [metric('loss', null, 4), metric('acc', null)],
      [metric('loss', 'epoch', 5)],
    ])
    expect(
      joined.map(({ name, axis, axisDiffers, count }) => [name, axis, axisDiffers, count]),
    ).toEqual([
      ['acc', '', false, 2],
      ['loss', 'epoch', true, 12],
    ])
  })

  it('of equal numbers take the first that was met', () => {
    const [first] = metricsJoin([[metric('a', 'x')], [metric('a', null)]])
    const [second] = metricsJoin([[metric('a', null)], [metric('a', 'x')]])
    expect([first?.axis, second?.axis]).toEqual(['x', ''])
  })
})

const row = (goal: RunFigure['goal'] | undefined): Row => {
  const figure = goal === undefined ? null : { figure: 'min' as const, step: 1, goal }
  const run = { values: [1], figures: [figure] } as unknown as Run
  return rowsOf([run], ['summary.loss'])[0] as Row
}

describe('the best run', () => {
  it('is looked for where most rows have a goal', () => {
    const rows = [row('minimize'), row(undefined), row(null), row('maximize'), row('minimize')]
    expect(goalOf(rows, 'summary.loss')).toBe('minimize')
    expect(bestOrders(rows, ['config.lr', 'summary.loss', 'summary.acc'])).toEqual(['summary.loss'])
    expect(bestOrders([row('maximize')], ['summary.loss'])).toEqual(['-summary.loss'])
    expect(bestOrders([row(null), row(undefined)], ['summary.loss'])).toEqual([])
  })

  it('makes room in the columns that say which figure they show', () => {
    expect(figuredColumns([row(undefined)]).size).toBe(0)
    expect([...figuredColumns([row(undefined), row(null)])]).toEqual(['summary.loss'])
    const room = columnWidth('summary.loss', true) - columnWidth('summary.loss')
    expect(room).toBeGreaterThan(0)
  })

  it('and what its value is are said in words', () => {
    expect(figureText({ figure: 'min', step: 1200, goal: 'minimize' })).toBe(
      'least value, at step 1,200; less is better',
    )
    expect(figureText({ figure: 'mean', step: null, goal: null })).toBe('mean of all values')
    expect(figureText({ figure: null, step: null, goal: 'maximize' })).toBe('more is better')
  })
})

describe('crosshairs', () => {
  it('are one for each axis, and are let go together', () => {
    const all = new Crosshairs()
    const told: boolean[] = []
    all.watch((pinned) => told.push(pinned))
    expect(all.of('')).toBe(all.of(''))
    all.of('epoch').pin(3, {})
    expect(all.of('').now.pinned).toBeNull()
    all.unpin()
    expect(all.of('epoch').now.pinned).toBeNull()
    expect(told).toEqual([true, false])
  })
})
