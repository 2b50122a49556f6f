import { useSyncExternalStore } from 'react'
import type { Watched } from '../base/emitter'

export function useWatched<T>(watched: Watched<T>): T {
  return useSyncExternalStore(watched.watch, watched.get)
}
