// One colour a run, the same in table, chart and legend, by its id. The 20 hues keep apart for
// colour-blind eyes by lightness too; each has a variant for the dark theme.

const LIGHT = [
  '#2f6fd0',
  '#c8531c',
  '#1a8a5c',
  '#a03ab0',
  '#b8860b',
  '#0e8a9c',
  '#c93363',
  '#5b7d1e',
  '#6a4fd1',
  '#8a5a3c',
  '#1f4e96',
  '#e07b39',
  '#34a875',
  '#7b2d8e',
  '#927114',
  '#3aa6b9',
  '#94204a',
  '#789b33',
  '#8f78e0',
  '#5f6b7a',
]
const DARK = [
  '#6ea3f5',
  '#f08a54',
  '#4fc48f',
  '#cf7fdd',
  '#dcb13f',
  '#4cc0d2',
  '#f0719a',
  '#9cc25a',
  '#a08ff5',
  '#c3906d',
  '#8cb6ff',
  '#ffb380',
  '#7fdcb1',
  '#e0a3ea',
  '#f0cf76',
  '#86dbe8',
  '#ff9dbb',
  '#bcdc86',
  '#c4b8ff',
  '#a5b1c0',
]

/** FNV-1a: the same id has the same colour on every screen and on every day. */
export function colourIndex(id: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) {
    hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  }
  return (hash >>> 0) % LIGHT.length
}

/** Colours for runs shown together: by id, moved on where two would meet. */
export function coloursFor(ids: string[], dark: boolean): Map<string, string> {
  const table = dark ? DARK : LIGHT
  const taken = new Set<number>()
  const colours = new Map<string, string>()
  for (const id of ids) {
    let index = colourIndex(id)
    if (taken.size < table.length) {
      while (taken.has(index)) index = (index + 1) % table.length
    }
    taken.add(index)
    colours.set(id, table[index] as string)
  }
  return colours
}
