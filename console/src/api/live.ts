// Live updates: one event stream a browser, whatever the number of tabs. The tab that holds a lock
// owns the stream and tells the others over a channel; when it closes, the next one takes over.
// Without a stream every tab falls back to asking again every few seconds.
import { Watched } from '../base/emitter'

export type LiveState = 'live' | 'behind' | 'offline'
export type LiveKind = 'run' | 'job' | 'metrics' | 'console' | 'alert' | 'agent'

export interface LiveEvent {
  kind: LiveKind | 'refresh' // refresh: something may have been missed, ask for everything shown
  id: string
  project: string
}

interface ChannelMessage {
  event?: LiveEvent
  state?: LiveState
  ask?: boolean // a new tab wants to know the state
}

const KINDS: LiveKind[] = ['run', 'job', 'metrics', 'console', 'alert', 'agent']
const POLL_MS = 5000
const SILENT_MS = 40_000 // the server sends something at least every 15 s

export const liveState = new Watched<LiveState>('behind')

type Listener = (event: LiveEvent) => void
const listeners = new Set<Listener>()

/** Hears every event in this tab. Returns what ends it. */
export function liveListen(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function onEvent(event: LiveEvent): void {
  for (const listener of [...listeners]) listener(event)
}

function parse(kind: LiveKind, text: string): LiveEvent | null {
  try {
    const data = JSON.parse(text) as { id?: unknown; project?: unknown }
    return { kind, id: String(data.id ?? ''), project: String(data.project ?? '') }
  } catch {
    return null
  }
}

/** The tab that owns the stream. Ends when `signal` does. */
function streamOwn(signal: AbortSignal, tell: (message: ChannelMessage) => void): Promise<void> {
  let source: EventSource | null = null
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let everOpen = false

  const open = (): void => {
    source = new EventSource('/api/v1/events')
    source.addEventListener('hello', () => {
      tell({ state: 'live' })
      if (everOpen) tell({ event: { kind: 'refresh', id: '', project: '' } })
      everOpen = true
    })
    for (const kind of KINDS) {
      source.addEventListener(kind, (message) => {
        const event = parse(kind, (message as MessageEvent<string>).data)
        if (event) tell({ event })
      })
    }
    source.addEventListener('error', () => {
      tell({ state: 'behind' })
      // The browser gives up on an answer that is no stream; we do not.
      if (source?.readyState === EventSource.CLOSED) {
        clearTimeout(retryTimer)
        retryTimer = setTimeout(open, POLL_MS)
      }
    })
  }
  open()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      clearTimeout(retryTimer)
      source?.close()
      resolve()
    })
  })
}

/** Starts the stream, or waits for the tab that has it. Returns what stops it. */
export function liveStart(): () => void {
  const abort = new AbortController()
  const channel =
    typeof BroadcastChannel === 'function' ? new BroadcastChannel('euvyra.live') : null
  let heardAt = Date.now()
  let isOwner = false

  const take = (message: ChannelMessage): void => {
    heardAt = Date.now()
    if (message.state) liveState.set(message.state)
    if (message.event) onEvent(message.event)
    if (message.ask && isOwner) channel?.postMessage({ state: liveState.get() })
  }
  const tell = (message: ChannelMessage): void => {
    take(message)
    channel?.postMessage(message)
  }
  if (channel) {
    channel.onmessage = (message: MessageEvent<ChannelMessage>) => take(message.data)
    channel.postMessage({ ask: true })
  }

  const owner = (): Promise<void> => {
    isOwner = true
    const beat = setInterval(() => channel?.postMessage({ state: liveState.get() }), 10_000)
    return streamOwn(abort.signal, tell).finally(() => clearInterval(beat))
  }
  // Locks need a secure page (TLS or loopback); elsewhere each tab has its own stream.
  if (navigator.locks) {
    navigator.locks.request('euvyra.live', { signal: abort.signal }, owner).catch(() => undefined)
  } else {
    void owner()
  }
  const poll = setInterval(() => {
    const silent = Date.now() - heardAt > SILENT_MS
    if (silent && liveState.get() === 'live') liveState.set('behind')
    if (liveState.get() !== 'live') onEvent({ kind: 'refresh', id: '', project: '' })
  }, POLL_MS)

  return () => {
    abort.abort()
    clearInterval(poll)
    channel?.close()
  }
}
