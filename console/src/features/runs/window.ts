// The rows in sight, of however many there are: blocks of rows are asked for where somebody looks.
import { useCallback, useMemo, useRef, useState } from 'react'
import { type RunsQuestion, useRunBlocks } from '../../api/queries'
import { type Row, rowsOf } from './columns'

const BLOCK = 100

export interface RunsWindow {
  total: number
  isKnown: boolean // an answer came, perhaps of the question before
  isFresh: boolean // it is of this question
  error: Error | null
  warnings: string[]
  rowAt: (index: number) => Row | undefined
  first: Row[] // the rows at the top that are loaded
  show: (first: number, last: number) => void
  retry: () => void
}

interface Known {
  total: number
  rows: Map<number, Row>
  warnings: string[]
}

/** Old rows stay until new ones are there. */
export function useRunsWindow(project: string, question: RunsQuestion): RunsWindow {
  const [range, setRange] = useState({ from: 0, to: 0 })
  const seen = useRef<Known | null>(null)
  const blocks = useMemo(() => {
    const wanted = new Set([0]) // the first tells how many there are, and what is charted
    for (let block = range.from; block <= range.to; block++) wanted.add(block)
    return [...wanted]
  }, [range])
  const answers = useRunBlocks(project, question, blocks, BLOCK)
  const top = answers[0]?.data
  const stamp = answers.map((answer) => answer.dataUpdatedAt).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp stands for the answers
  const known = useMemo((): Known | null => {
    if (!top) return null
    const rows = new Map<number, Row>()
    for (const [i, answer] of answers.entries()) {
      const items = rowsOf(answer.data?.items ?? [], answer.data?.columns ?? [])
      for (const [k, row] of items.entries()) rows.set((blocks[i] as number) * BLOCK + k, row)
    }
    return { total: top.total, rows, warnings: top.warnings ?? [] }
  }, [top, stamp, blocks])
  if (known) seen.current = known
  const shown = known ?? seen.current
  const show = useCallback((first: number, last: number) => {
    const from = Math.floor(first / BLOCK)
    const to = Math.max(from, Math.floor((last - 1) / BLOCK))
    setRange((before) => (before.from === from && before.to === to ? before : { from, to }))
  }, [])
  const first = useMemo(() => {
    const rows: Row[] = []
    for (let row = shown?.rows.get(0); row; row = shown?.rows.get(rows.length)) rows.push(row)
    return rows
  }, [shown])
  return {
    total: shown?.total ?? 0,
    isKnown: shown !== null,
    isFresh: known !== null,
    error: answers.find((answer) => answer.error)?.error ?? null,
    warnings: known?.warnings ?? [],
    rowAt: (index) => shown?.rows.get(index),
    first,
    show,
    retry: () => {
      for (const answer of answers) void answer.refetch()
    },
  }
}
