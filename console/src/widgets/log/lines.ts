// Console text as it arrives: bytes at offsets become lines. Pure; the viewer draws, the page loads.
import { plainLine } from '../../base/ansi'

const LINES_MAX = 200_000 // beyond it the oldest go; the whole text can be downloaded

export class LogLines {
  #decoder = new TextDecoder('utf-8')
  #lines: string[] = []
  #open = '' // the last line while its newline has not come
  #dropped = 0
  #cutStart: boolean

  /** `cutStart`: reading began inside a line, whose rest is not shown. */
  constructor(cutStart = false) {
    this.#cutStart = cutStart
  }

  add(bytes: Uint8Array): void {
    const text = this.#open + this.#decoder.decode(bytes, { stream: true })
    const parts = text.split('\n')
    this.#open = parts.pop() ?? ''
    if (this.#cutStart && parts.length > 0) {
      parts.shift()
      this.#cutStart = false
    }
    for (const part of parts) this.#lines.push(part.endsWith('\r') ? part.slice(0, -1) : part)
    if (this.#lines.length > LINES_MAX) {
      const over = this.#lines.length - LINES_MAX
      this.#lines.splice(0, over)
      this.#dropped += over
    }
  }

  /** Lines held, the open one counted. */
  get count(): number {
    return this.#lines.length + (this.#open && !this.#cutStart ? 1 : 0)
  }

  get dropped(): number {
    return this.#dropped
  }

  line(index: number): string {
    return index < this.#lines.length ? (this.#lines[index] as string) : this.#open
  }

  /** Indices of lines that contain the text, case-insensitive, at most `max`. */
  search(text: string, max = 10_000): number[] {
    const needle = text.toLowerCase()
    const found: number[] = []
    if (!needle) return found
    for (let i = 0; i < this.count && found.length < max; i++) {
      if (plainLine(this.line(i)).toLowerCase().includes(needle)) found.push(i)
    }
    return found
  }
}
