import { useEffect, useState } from 'react'
import { useShortcuts } from './hooks'

/** `j` and `k` walk a list, Enter opens: the current row, -1 for none, and what sets it. */
export function useRowsAt(
  count: number,
  open: (at: number) => void,
): [number, (at: number) => void] {
  const [at, setAt] = useState(-1)
  useEffect(() => {
    if (at >= count) setAt(count - 1)
  }, [at, count])
  useShortcuts({
    j: () => setAt((before) => Math.min(count - 1, before + 1)),
    k: () => setAt((before) => Math.max(0, before - 1)),
    Enter: () => at >= 0 && open(at),
  })
  return [at, setAt]
}

export const useRows = (count: number, open: (at: number) => void): number =>
  useRowsAt(count, open)[0]
