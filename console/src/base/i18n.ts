// Texts in three languages. The English catalogue is the type of the others: a missing or unknown
// key does not compile. A text that counts has plural forms and takes `n`.
import type { Catalogue, Key, Text } from './texts/catalogue'
import { en } from './texts/en'

export type { Catalogue, Key } from './texts/catalogue'

export type Language = 'en' | 'de' | 'ru'
export const LANGUAGES: { id: Language; name: string }[] = [
  { id: 'en', name: 'English' },
  { id: 'de', name: 'Deutsch' },
  { id: 'ru', name: 'Русский' },
]

export type Values = Record<string, string | number>

let language: Language = 'en'
let catalogue: Catalogue = en
let plural = new Intl.PluralRules('en')
let numberFormat = new Intl.NumberFormat('en')

export function currentLanguage(): Language {
  return language
}

export function catalogueUse(next: Language, texts: Catalogue): void {
  language = next
  catalogue = texts
  plural = new Intl.PluralRules(next)
  numberFormat = new Intl.NumberFormat(next)
}

/** English is part of the first page, the others are loaded when they are wanted. */
export async function languageLoad(next: Language): Promise<void> {
  if (next === 'de') catalogueUse(next, (await import('./texts/de')).de)
  else if (next === 'ru') catalogueUse(next, (await import('./texts/ru')).ru)
  else catalogueUse('en', en)
}

/** The wanted one of a browser's list, else English. */
export function languageOf(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const found = LANGUAGES.find((known) => tag.toLowerCase().split('-')[0] === known.id)
    if (found) return found.id
  }
  return 'en'
}

export function fill(text: string, values: Values): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]
    if (value === undefined) return whole
    return typeof value === 'number' ? numberFormat.format(value) : value
  })
}

export function t(key: Key, values: Values = {}): string {
  const text: Text = catalogue[key]
  if (typeof text === 'string') return fill(text, values)
  const count = Number(values.n ?? 0)
  return fill(text[plural.select(count)] ?? text.other, values)
}

export const isKey = (name: string): name is Key => name in catalogue

/** The text of a name that came from the server, or the name itself where we know none. */
export function tName(prefix: string, name: string): string {
  const key = `${prefix}.${name}`
  return isKey(key) ? t(key) : name
}
