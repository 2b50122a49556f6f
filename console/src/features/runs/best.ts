// The best run of those that are found, for each column whose metric has a goal.
import { useMemo } from 'react'
import { type RunsQuestion, useFirstValues } from '../../api/queries'
import type { Row } from './columns'
import type { RunsWindow } from './window'

type Goal = 'minimize' | 'maximize'

/** What most rows say is better in a column; null: nothing. */
export function goalOf(rows: Row[], column: string): Goal | null {
  let balance = 0
  let said = 0
  for (const row of rows) {
    const goal = row.figures.get(column)?.goal
    if (!goal) continue
    said++
    balance += goal === 'minimize' ? -1 : 1
  }
  if (said === 0) return null
  return balance <= 0 ? 'minimize' : 'maximize'
}

/** The columns with a goal, as orders in which the best run comes first. */
export function bestOrders(rows: Row[], columns: string[]): string[] {
  return columns.flatMap((column) => {
    const goal = column.startsWith('summary.') ? goalOf(rows, column) : null
    return goal ? [`${goal === 'maximize' ? '-' : ''}${column}`] : []
  })
}

/** The best value by column. The server looks at all runs that the filter finds, not at those in sight. */
export function useBest(
  project: string,
  question: RunsQuestion,
  rows: RunsWindow,
): ReadonlyMap<string, number> {
  const orders = useMemo(
    () => (rows.total > 1 ? bestOrders(rows.first, question.columns) : []),
    [rows.total, rows.first, question.columns],
  )
  const values = useFirstValues(project, question.find, orders)
  return useMemo(() => {
    const best = new Map<string, number>()
    for (const [i, order] of orders.entries()) {
      const value = values[i]
      if (typeof value === 'number') best.set(order.replace(/^-/, ''), value)
    }
    return best
  }, [orders, values])
}
