// All charts of a page that have the same axis share one crosshair, by x value: panels have different
// widths and ranges.
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

/** The crosshairs of a page, one for each axis; '' is the axis that all charts have by themselves. */
export class Crosshairs {
  #made = new Map<string, Crosshair>()
  #listeners = new Set<(pinned: boolean) => void>()

  of(axis: string): Crosshair {
    const known = this.#made.get(axis)
    if (known) return known
    const made = new Crosshair()
    made.watch(() => {
      for (const listener of this.#listeners) listener(this.#pinned())
    })
    this.#made.set(axis, made)
    return made
  }

  unpin(): void {
    for (const crosshair of this.#made.values()) crosshair.unpin()
  }

  /** Tells whether one of them is pinned, whenever one of them changes. */
  watch(listener: (pinned: boolean) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #pinned(): boolean {
    return [...this.#made.values()].some((crosshair) => crosshair.now.pinned !== null)
  }
}
