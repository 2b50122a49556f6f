// All charts of a page share one crosshair, by x value: panels have different widths and ranges.
// A click pins it: the pin stays where it is while the pointer goes on.

export interface Cursor {
  x: number | null // where the pointer or the keyboard is
  source: object | null // the chart that moves it
  pin: number | null
  pinned: object | null // the chart in which it was pinned
}

type Listener = (cursor: Cursor) => void

export class Crosshair {
  #listeners = new Set<Listener>()
  #last: Cursor = { x: null, source: null, pin: null, pinned: null }

  move(x: number | null, source: object): void {
    if (this.#last.x === x && this.#last.source === source) return
    this.#tell({ ...this.#last, x, source })
  }

  pin(x: number, source: object): void {
    this.#tell({ ...this.#last, pin: x, pinned: source })
  }

  unpin(): void {
    if (this.#last.pinned) this.#tell({ ...this.#last, pin: null, pinned: null })
  }

  get now(): Cursor {
    return this.#last
  }

  /** Forgets a chart that goes away: nothing points at it any more. */
  leave(source: object): void {
    if (this.#last.pinned === source) this.unpin()
    if (this.#last.source === source) this.move(null, source)
  }

  watch(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(cursor: Cursor): void {
    this.#last = cursor
    for (const listener of this.#listeners) listener(cursor)
  }
}
