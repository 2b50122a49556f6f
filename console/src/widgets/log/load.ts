import { useEffect, useRef, useState } from 'react'
import { ApiError, consoleRead } from '../../api/client'
import { liveListen } from '../../api/live'
import { LogLines } from './lines'

const PIECE = 512 * 1024
const FIRST = 256 * 1024 // the end first: that is what people look for

export interface LoadedLog {
  lines: LogLines
  version: number // changes when lines do
  start: number // offset of the first byte held
  size: number
  final: boolean
  loading: boolean
  error: ApiError | null
  loadEarlier: () => void
}

/** Reads on from `offset` until there is no more. */
async function readOn(
  run: string,
  writer: string,
  offset: number,
  take: (bytes: Uint8Array, next: number, size: number, final: boolean) => boolean,
): Promise<void> {
  let at = offset
  for (let pieces = 0; pieces < 1000; pieces++) {
    const piece = await consoleRead(run, at, PIECE, writer)
    if (!take(piece.bytes, piece.next, piece.size, piece.final)) return
    if (piece.bytes.length === 0 || piece.next >= piece.size) return
    at = piece.next
  }
}

interface Held {
  lines: LogLines
  start: number
  next: number
  size: number
  final: boolean
}

const nothing = (): Held => ({ lines: new LogLines(), start: 0, next: 0, size: 0, final: false })

/** The console text of a run, kept current by live events. */
export function useLog(run: string, writer = ''): LoadedLog {
  const held = useRef<Held>(nothing())
  const [version, setVersion] = useState(0)
  const [loading, setLoading] = useState(true)
  const [error, setError] = useState<ApiError | null>(null)
  const [from, setFrom] = useState<number | null>(null) // null: near the end

  useEffect(() => {
    let alive = true
    let busy = false
    let again = false
    held.current = nothing()

    const take = (bytes: Uint8Array, next: number, size: number, final: boolean): boolean => {
      if (!alive) return false
      held.current.lines.add(bytes)
      Object.assign(held.current, { next, size, final })
      setVersion((before) => before + 1)
      return true
    }
    const begin = async (): Promise<void> => {
      const { size } = await consoleRead(run, 0, 1, writer)
      const start = from ?? Math.max(0, size - FIRST)
      Object.assign(held.current, { lines: new LogLines(start > 0), start, next: start })
      await readOn(run, writer, start, take)
    }
    const update = async (first: boolean): Promise<void> => {
      if (busy) {
        again = true
        return
      }
      busy = true
      try {
        await (first ? begin() : readOn(run, writer, held.current.next, take))
        if (alive) setError(null)
      } catch (failure) {
        if (alive) setError(failure instanceof ApiError ? failure : new ApiError(0, {}))
      }
      busy = false
      if (alive) setLoading(false)
      if (alive && again) {
        again = false
        void update(false)
      }
    }
    void update(true)
    const stop = liveListen((event) => {
      if (event.kind === 'refresh' || event.id === run) void update(false)
    })
    return () => {
      alive = false
      stop()
    }
  }, [run, writer, from])

  const { lines, start, size, final } = held.current
  const loadEarlier = (): void => setFrom(Math.max(0, start - 8 * FIRST))
  return { lines, version, start, size, final, loading, error, loadEarlier }
}
