// All charts of a page share one crosshair, by x value: panels have different widths and ranges.

export interface Cursor {
  x: number | null
  source: object | null // the chart that moves it
}

type Listener = (cursor: Cursor) => void

export class Crosshair {
  #listeners = new Set<Listener>()
  #last: Cursor = { x: null, source: null }

  move(x: number | null, source: object): void {
    if (this.#last.x === x && this.#last.source === source) return
    this.#last = { x, source }
    for (const listener of this.#listeners) listener(this.#last)
  }

  watch(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
