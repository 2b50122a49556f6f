// What the filter box means: a filter where it looks like one, else part of a name or id. And what may
// come where the cursor is. Pure.
import type { RunsFind } from '../../api/queries'

const LOOKS_LIKE_FILTER = /[=<>~!()]|\b(?:in|is|contains|and|or|not)\b/i

export const isFilter = (text: string): boolean => LOOKS_LIKE_FILTER.test(text)

export function findOf(text: string, state: string): RunsFind {
  const trimmed = text.trim()
  const filter = isFilter(trimmed) ? trimmed : ''
  return { filter, search: filter ? '' : trimmed, state }
}

/** The runs of a group among those. */
export function within(find: RunsFind, group: string): RunsFind {
  return { ...find, filter: find.filter ? `(${find.filter}) and ${group}` : group }
}

/** The word that is being written: where it begins, and its text. */
export function wordAt(text: string, caret: number): { from: number; word: string } {
  const word = /[\p{L}\p{N}_\-./:@]*$/u.exec(text.slice(0, caret))?.[0] ?? ''
  return { from: caret - word.length, word }
}

const VALUE_BEFORE = /(?:[=<>~!]|\bcontains)\s*$/i

/** Keys that the word may become: those that begin with it first. None where a value stands. */
export function complete(text: string, caret: number, keys: string[], max = 8): string[] {
  const { from, word } = wordAt(text, caret)
  const before = text.slice(0, from)
  const quotes = before.match(/(?<!\.)"/g)?.length ?? 0
  if (word === '' || quotes % 2 === 1 || VALUE_BEFORE.test(before)) return []
  const needle = word.toLowerCase()
  const rank = (key: string): number => {
    const at = key.toLowerCase().indexOf(needle)
    if (at < 0 || key === word) return -1
    return at === 0 ? 0 : key[at - 1] === '.' ? 1 : 2
  }
  return keys
    .map((key) => ({ key, rank: rank(key) }))
    .filter((one) => one.rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, max)
    .map((one) => one.key)
}

/** Puts the key in the place of the word; the cursor comes behind it. */
export function accept(text: string, caret: number, key: string): { text: string; caret: number } {
  const { from } = wordAt(text, caret)
  return {
    text: `${text.slice(0, from)}${key} ${text.slice(caret).trimStart()}`,
    caret: from + key.length + 1,
  }
}
