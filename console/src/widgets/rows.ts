import { useEffect, useState } from 'react'
import { useShortcuts } from './hooks'

/** `j` and `k` walk a list, Enter opens: returns the current row, -1 for none. */
export function useRows(count: number, open: (at: number) => void): number {
  const [at, setAt] = useState(-1)
  useEffect(() => {
    if (at >= count) setAt(count - 1)
  }, [at, count])
  useShortcuts({
    j: () => setAt((before) => Math.min(count - 1, before + 1)),
    k: () => setAt((before) => Math.max(0, before - 1)),
    Enter: () => at >= 0 && open(at),
  })
  return at
}
