import {
  type RefObject,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { useSearchParams } from 'wouter'
import { bindKeys } from '../base/keys'
import { isDark, theme } from '../base/theme'

/** Shortcuts while the component is shown. The map may be made anew on each render. */
export function useShortcuts(map: Record<string, () => void>): void {
  const latest = useRef(map)
  latest.current = map
  const names = Object.keys(map).join(',')
  useEffect(() => {
    const actions = names.split(',').filter(Boolean)
    return bindKeys(
      Object.fromEntries(actions.map((name) => [name, () => latest.current[name]?.()])),
    )
  }, [names])
}

/** The view lives in the URL: defaults are never written, typing replaces, choosing pushes. */
export function useViewParam(
  name: string,
  fallback: string,
  how: 'replace' | 'push' = 'replace',
): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams()
  const set = useCallback(
    (value: string) => {
      setParams(
        (before) => {
          const next = new URLSearchParams(before)
          if (value === fallback) next.delete(name)
          else next.set(name, value)
          next.sort()
          return next
        },
        { replace: how === 'replace' },
      )
    },
    [setParams, name, fallback, how],
  )
  return [params.get(name) ?? fallback, set]
}

function watchDark(listener: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)')
  media.addEventListener('change', listener)
  const stop = theme.watch(listener)
  return () => {
    media.removeEventListener('change', listener)
    stop()
  }
}

export const useDark = (): boolean => useSyncExternalStore(watchDark, isDark)

/** The time, again every second while something is going on. */
export function useNow(active: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!active) return
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [active])
  return now
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Euvyra` : 'Euvyra'
  }, [title])
}

export interface Size {
  width: number
  height: number
}

export function useSize(ref: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(([entry]) => {
      if (!entry) return
      const { width, height } = entry.contentRect
      setSize({ width: Math.floor(width), height: Math.floor(height) })
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return size
}

/** True from the first time the element comes near the window. */
export function useSeen(ref: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (!element || seen) return
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true),
      { rootMargin: '200px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref, seen])
  return seen
}

/** A text that follows `value` only after it rested: for filters that ask the server. */
export function useRested(value: string, waitMs = 250): string {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), waitMs)
    return () => clearTimeout(timer)
  }, [value, waitMs])
  return rested
}
