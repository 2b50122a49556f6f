import { describe, expect, it } from 'vitest'
import { foldReturns, parseLine, plainLine } from '../src/base/ansi'
import { LogLines } from '../src/widgets/log/lines'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('a line of console text', () => {
  it('keeps colours and weight', () => {
    expect(parseLine('a\x1b[31;1mb\x1b[0mc')).toEqual([
      { text: 'a', style: '' },
      { text: 'b', style: 'fg1 bold' },
      { text: 'c', style: '' },
    ])
    expect(parseLine('\x1b[38;5;10mx\x1b[38;2;1;2;3my')).toEqual([
      { text: 'x', style: 'fg10' },
      { text: 'y', style: 'fg10' },
    ])
  })

  it('drops every other sequence and control byte', () => {
    expect(plainLine('a\x1b[2Kb\x1b]0;title\x07c\x1b[?25hd\x00e\x08')).toBe('abcde')
    expect(parseLine('\x1b[2K\x1b[1A')).toEqual([])
  })

  it('shows the last state of a progress bar', () => {
    expect(foldReturns('10%\r50%\r100%')).toBe('100%')
    expect(foldReturns('100%\r')).toBe('100%')
    expect(foldReturns('\r\r')).toBe('')
  })

  it('never becomes markup', () => {
    expect(parseLine('<img src=x onerror=alert(1)>')).toEqual([
      { text: '<img src=x onerror=alert(1)>', style: '' },
    ])
  })
})

describe('lines from bytes', () => {
  it('a letter may be split over two pieces', () => {
    const lines = new LogLines()
    const all = bytes('größe\nДа\n')
    for (const byte of all) lines.add(Uint8Array.of(byte))
    expect([lines.count, lines.line(0), lines.line(1)]).toEqual([2, 'größe', 'Да'])
  })

  it('the open line is shown before its newline comes', () => {
    const lines = new LogLines()
    lines.add(bytes('a\nbc'))
    expect([lines.count, lines.line(1)]).toEqual([2, 'bc'])
    lines.add(bytes('d\r\n'))
    expect([lines.count, lines.line(1)]).toEqual([2, 'bcd'])
  })

  it('progress bars that lie over each other are each shown in their last state', () => {
    const lines = new LogLines()
    lines.add(bytes('\router  0%\n\rinner  0%\x1b[A'))
    for (let n = 1; n <= 3; n++) lines.add(bytes(`\n\rinner ${n}0%\x1b[A`))
    lines.add(bytes('\router 50%\n\n'))
    expect(lines.count).toBe(2)
    expect([lines.line(0), lines.line(1)].map(plainLine)).toEqual(['outer 50%', 'inner 30%'])
  })

  it('a line that is written over for hours stays small', () => {
    const lines = new LogLines()
    for (let n = 0; n < 20_000; n++) lines.add(bytes(`\r${n}%`))
    expect(lines.line(0).length).toBeLessThan(5000)
    expect(plainLine(lines.line(0))).toBe('19999%')
    lines.add(bytes('\r'))
    lines.add(bytes('end\n'))
    expect(plainLine(lines.line(0))).toBe('end')
  })

  it('reading from the middle hides the cut line', () => {
    const lines = new LogLines(true)
    lines.add(bytes('rest of a line\nwhole\n'))
    expect([lines.count, lines.line(0)]).toEqual([1, 'whole'])
  })

  it('the oldest go when there are too many', () => {
    const lines = new LogLines()
    lines.add(bytes('x\n'.repeat(200_010)))
    expect([lines.count, lines.dropped]).toEqual([200_000, 10])
  })

  it('search sees what people see', () => {
    const lines = new LogLines()
    lines.add(bytes('one\n\x1b[31mLo\x1b[0mss 0.5\n10%\rLOSS\n'))
    expect(lines.search('loss')).toEqual([1, 2])
    expect(lines.search('')).toEqual([])
  })
})
