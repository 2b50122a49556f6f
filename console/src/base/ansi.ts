// Console text: bytes in, lines of coloured spans out. Colours and weight are kept, every other
// escape sequence is dropped, a carriage return starts the line anew (progress bars).

export interface Span {
  text: string
  style: string // class names: "fg1 bold"
}

interface Pen {
  fg: string
  bold: boolean
  dim: boolean
  italic: boolean
  underline: boolean
}

const PLAIN: Pen = { fg: '', bold: false, dim: false, italic: false, underline: false }
// CSI, OSC, and two-byte escapes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters
const ESCAPE = /\x1b(?:\[([0-9;:?]*)([ -/]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/g

function styleOf(pen: Pen): string {
  const names = [pen.fg]
  if (pen.bold) names.push('bold')
  if (pen.dim) names.push('dim')
  if (pen.italic) names.push('italic')
  if (pen.underline) names.push('underline')
  return names.filter(Boolean).join(' ')
}

function colourApply(pen: Pen, codes: number[], at: number): number {
  // 38;5;n: the first 16 are ours, the cube and greys fall back to the plain colour.
  if (codes[at + 1] === 5) {
    const n = codes[at + 2] ?? 0
    pen.fg = n < 16 ? `fg${n}` : ''
    return at + 2
  }
  if (codes[at + 1] === 2) return at + 4
  return at
}

function penApply(pen: Pen, params: string): void {
  const codes = params.split(/[;:]/).map((part) => Number(part || '0'))
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number
    if (code === 0) Object.assign(pen, PLAIN)
    else if (code === 1) pen.bold = true
    else if (code === 2) pen.dim = true
    else if (code === 3) pen.italic = true
    else if (code === 4) pen.underline = true
    else if (code === 22) pen.bold = pen.dim = false
    else if (code === 23) pen.italic = false
    else if (code === 24) pen.underline = false
    else if (code >= 30 && code <= 37) pen.fg = `fg${code - 30}`
    else if (code >= 90 && code <= 97) pen.fg = `fg${code - 82}`
    else if (code === 39) pen.fg = ''
    else if (code === 38) i = colourApply(pen, codes, i)
    else if (code === 48) i = colourApply({ ...PLAIN }, codes, i)
  }
}

/** What is left of a line after its carriage returns: the last text that was not blank. */
export function foldReturns(line: string): string {
  if (!line.includes('\r')) return line
  const parts = line.split('\r').filter((part) => part !== '')
  return parts.length > 0 ? (parts[parts.length - 1] as string) : ''
}

/** One line into spans. Colours do not reach over lines: each can be shown alone. */
export function parseLine(line: string): Span[] {
  const text = foldReturns(line)
  const pen: Pen = { ...PLAIN }
  const spans: Span[] = []
  let from = 0
  const push = (part: string): void => {
    const clean = part.replace(CONTROL, '')
    if (clean) spans.push({ text: clean, style: styleOf(pen) })
  }
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(from, match.index))
    if (match[3] === 'm' && !match[2]) penApply(pen, match[1] ?? '')
    from = match.index + match[0].length
  }
  push(text.slice(from))
  return spans
}

/** The text a person sees, for search and copying. */
export function plainLine(line: string): string {
  return foldReturns(line).replace(ESCAPE, '').replace(CONTROL, '')
}
