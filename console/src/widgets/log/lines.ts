// Console text as it arrives: bytes at offsets become lines. Pure; the viewer draws, the page loads.
import { foldReturns, plainLine } from '../../base/ansi'

const LINES_MAX = 200_000 // beyond it the oldest go; the whole text can be downloaded

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what moves the cursor
const MOVES = /\n|\x1b\[(\d*)A/g
const LONG = 4096 // a line that was written over and over is cut to what is seen of it

function settled(line: string): string {
  if (line.length < LONG || !line.includes('\r')) return line
  return foldReturns(line) + (line.endsWith('\r') ? '\r' : '')
}

export class LogLines {
  #decoder = new TextDecoder('utf-8')
  #lines: string[] = []
  #open = '' // the last line while its newline has not come
  #dropped = 0
  #above = 0 // how many lines above the open one the text goes: progress bars move up and down
  #cutStart: boolean

  /** `cutStart`: reading began inside a line, whose rest is not shown. */
  constructor(cutStart = false) {
    this.#cutStart = cutStart
  }

  add(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true })
    let from = 0
    for (const move of text.matchAll(MOVES)) {
      this.#write(text.slice(from, move.index))
      from = move.index + move[0].length
      if (move[0] === '\n') this.#down()
      else this.#up(Math.max(1, Number(move[1] ?? 1)))
    }
    this.#write(text.slice(from))
    if (this.#lines.length > LINES_MAX) {
      const over = this.#lines.length - LINES_MAX
      this.#lines.splice(0, over)
      this.#dropped += over
    }
  }

  #write(text: string): void {
    if (text === '') return
    if (this.#above === 0) {
      this.#open = settled(this.#open + text)
      return
    }
    const at = this.#lines.length - this.#above
    this.#lines[at] = settled((this.#lines[at] as string) + text)
  }

  #down(): void {
    if (this.#above > 0) {
      this.#above--
      return
    }
    const line = this.#open
    this.#open = ''
    if (this.#cutStart) this.#cutStart = false
    else this.#lines.push(line.endsWith('\r') ? line.slice(0, -1) : line)
  }

  #up(by: number): void {
    this.#above = Math.min(this.#above + by, this.#lines.length)
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
