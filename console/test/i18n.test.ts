import { afterEach, describe, expect, it } from 'vitest'
import { catalogueUse, fill, languageOf, t, tName } from '../src/base/i18n'
import type { Catalogue } from '../src/base/texts/catalogue'
import { de } from '../src/base/texts/de'
import { en } from '../src/base/texts/en'
import { ru } from '../src/base/texts/ru'

const holes = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1] ?? '').sort()
const forms = (text: string | object): string[] =>
  typeof text === 'string' ? [text] : Object.values(text)

afterEach(() => catalogueUse('en', en))

describe('texts', () => {
  it.each([
    ['de', de],
    ['ru', ru],
  ])('every %s text has the holes of the English one', (_, other: Catalogue) => {
    for (const key of Object.keys(en) as (keyof typeof en)[]) {
      const wanted = [...new Set(forms(en[key]).flatMap(holes))]
      const found = [...new Set(forms(other[key]).flatMap(holes))]
      expect([key, ...found]).toEqual([key, ...wanted])
    }
  })

  it('Russian counts have one, few, many and other', () => {
    for (const [key, text] of Object.entries(ru)) {
      if (typeof text !== 'string')
        expect([key, Object.keys(text).sort()]).toEqual([key, ['few', 'many', 'one', 'other']])
    }
  })

  it('counts choose the form of their language', () => {
    expect([1, 2].map((n) => t('runs.count', { n }))).toEqual(['1 run', '2 runs'])
    catalogueUse('ru', ru)
    expect([1, 2, 5, 11, 21].map((n) => t('runs.count', { n }))).toEqual([
      '1 запуск',
      '2 запуска',
      '5 запусков',
      '11 запусков',
      '21 запуск',
    ])
  })

  it('numbers are written as the language does', () => {
    catalogueUse('de', de)
    expect(t('runs.count', { n: 12345 })).toBe('12.345 Läufe')
  })

  it('a name that we have no word for stays as it came', () => {
    expect(tName('state', 'running')).toBe('Running')
    expect(tName('state', 'levitating')).toBe('levitating')
  })

  it('a missing value leaves its hole visible', () => {
    expect(fill('{a} of {b}', { a: 'x' })).toBe('x of {b}')
  })

  it('the first known language of the browser is taken', () => {
    expect(languageOf(['fr-FR', 'ru-RU', 'de'])).toBe('ru')
    expect(languageOf(['fr'])).toBe('en')
    expect(languageOf([])).toBe('en')
  })
})
