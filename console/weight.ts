// What a browser loads before the first page stands, and before the heaviest one does: scripts and
// style sheets as gzip -9. Used by the build, which prints it, and by the test that holds the budget.
import { gzipSync } from 'node:zlib'

export interface Part {
  fileName: string
  type: string
  isEntry?: boolean
  facadeModuleId?: string | null
  imports?: string[]
  code?: string
  source?: string | Uint8Array
  viteMetadata?: { importedCss: Set<string> } | undefined
}

export const FIRST_PAGE_KB_MAX = 150 // the promise of the design; the test keeps well below it

const kilobytes = (bytes: number): number => Math.round((bytes / 1024) * 10) / 10

function gzipped(part: Part | undefined): number {
  const content = part?.code ?? part?.source
  return content === undefined ? 0 : gzipSync(content, { level: 9 }).length
}

/** A chunk, what it imports at once, and their style sheets. */
function reach(parts: Map<string, Part>, from: Part, into: Set<string>): Set<string> {
  const waiting = [from]
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    if (into.has(part.fileName)) continue
    into.add(part.fileName)
    for (const css of part.viteMetadata?.importedCss ?? []) into.add(css)
    for (const name of part.imports ?? []) {
      const next = parts.get(name)
      if (next) waiting.push(next)
    }
  }
  return into
}

export interface Weight {
  first: number // KB
  pages: { page: string; kb: number }[] // what each page adds up to, the first included; heaviest first
}

/** The weight of a bundle as Rollup describes it. */
export function weightOf(bundle: Iterable<Part>): Weight {
  const parts = new Map([...bundle].map((part) => [part.fileName, part]))
  const sum = (names: Set<string>): number =>
    kilobytes([...names].reduce((bytes, name) => bytes + gzipped(parts.get(name)), 0))
  const entry = [...parts.values()].find((part) => part.isEntry)
  if (!entry) return { first: 0, pages: [] }
  const first = reach(parts, entry, new Set())
  const pages = []
  for (const part of parts.values()) {
    const page = /src\/features\/(\w+)\/page\.tsx$/.exec(part.facadeModuleId ?? '')?.[1]
    if (page) pages.push({ page, kb: sum(reach(parts, part, new Set(first))) })
  }
  return { first: sum(first), pages: pages.sort((a, b) => b.kb - a.kb) }
}

export function weightText(weight: Weight): string {
  const pages = weight.pages.map(({ page, kb }) => `${page} ${kb}`).join(', ')
  return `first page ${weight.first} KB gzip (budget ${FIRST_PAGE_KB_MAX}); with its page: ${pages}`
}
