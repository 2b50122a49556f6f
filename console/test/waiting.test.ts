import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import type { Waiting } from '../src/api/client'
import { catalogueUse, type Language } from '../src/base/i18n'
import type { Catalogue } from '../src/base/texts/catalogue'
import { de } from '../src/base/texts/de'
import { en } from '../src/base/texts/en'
import { ru } from '../src/base/texts/ru'
import { endingText } from '../src/widgets/ending'
import { rankText, waitingText, waitingWords } from '../src/widgets/waiting'

const languages: [Language, Catalogue][] = [
  ['en', en],
  ['de', de],
  ['ru', ru],
]
const api = readFileSync(new URL('../../api/openapi.yaml', import.meta.url), 'utf8')

/** The names that the API description lists after these words. */
function listed(after: RegExp): string[] {
  const match = after.exec(api)
  return (match?.[1] ?? '').split(',').map((name) => name.trim())
}
const codes = listed(/ {4}Waiting:[\s\S]*?code: \{type: string, enum: \[([^\]]*)\]/)
const endings = listed(/ {4}Ending:[\s\S]*?enum: \["", ([^\]]*)\]/)

const whole = (code: string): Waiting => ({
  code: code as Waiting['code'],
  text: `server's words for ${code}`,
  change: "server's words",
  asked: 4,
  free: 1,
  resource: 'gpus',
  share: 'vision',
  queue: 'night',
  target: 'rack-a',
  job: 'jabcdefabcdef',
  until: new Date(Date.now() + 3_600_000).toISOString(),
  rank: 3,
})

afterEach(() => catalogueUse('en', en))

describe('why a job waits', () => {
  it.each(languages)('every code of the API has words of our own in %s', (language, texts) => {
    catalogueUse(language, texts)
    expect(codes.length).toBeGreaterThan(30)
    for (const code of codes) {
      const words = waitingWords(whole(code), 'EUR')
      const said = `${words.text} ${words.change}`
      expect(said).not.toMatch(/server's words|[{}]|undefined|NaN/)
      expect(words.text.length).toBeGreaterThan(5)
    }
  })

  it('is said with its numbers', () => {
    const waiting: Waiting = { code: 'busy', text: '', asked: 4, free: 1, resource: 'gpus' }
    expect(waitingText(waiting, 'EUR')).toBe(
      'It asks for 4 GPUs; the most that is free on one machine is 1 GPU.',
    )
    catalogueUse('de', de)
    expect(waitingText({ ...waiting, resource: 'cpus', asked: 1.5 }, 'EUR')).toBe(
      'Er verlangt 1,5 Kerne; auf einer Maschine höchstens frei: 1 Kern.',
    )
    catalogueUse('ru', ru)
    const memory = { ...waiting, resource: 'memory', asked: 64 * 2 ** 30, free: 8 * 2 ** 30 }
    expect(waitingText(memory, 'EUR')).toBe(
      'Нужно: 64 GiB памяти; на одной машине свободно не больше: 8 GiB памяти.',
    )
  })

  it('says of machines what is needed and what is there, one or several', () => {
    const of = (code: Waiting['code'], asked: number): Waiting => ({
      code,
      text: '',
      asked,
      free: 1,
    })
    const said = (asked: number): string[] =>
      (['agent_offline', 'nodes_excluded'] as const).map((code) =>
        waitingText(of(code, asked), 'EUR'),
      )
    expect(said(2)).toEqual([
      'It needs 2 machines; online of those that could take it: 1.',
      'It needs 2 machines; not excluded of those that could take it: 1.',
    ])
    expect(said(1)[0]).toBe('It needs 1 machine; online of those that could take it: 1.')
    catalogueUse('de', de)
    expect(said(2)[0]).toBe('Er braucht 2 Maschinen; online von denen, die ihn nehmen könnten: 1.')
    catalogueUse('ru', ru)
    expect(said(5)[0]).toBe('Нужно 5 машин; из подходящих на связи: 1.')
  })

  it('says how many jobs it comes after', () => {
    const after: Waiting = { code: 'after', text: '', job: 'jabcdefabcdef' }
    expect(waitingText(after, 'EUR')).toBe('It comes after job jabcdefabcdef.')
    expect(waitingWords({ ...after, asked: 3 }, 'EUR')).toMatchObject({
      text: 'It comes after 3 jobs that have not ended, such as jabcdefabcdef.',
      change: 'It starts when all of them have ended.',
    })
  })

  it('says money and GPU hours as people write them', () => {
    const of = { text: '', share: 'vision', asked: 90_000_000, free: 12_500_000 }
    expect(waitingText({ ...of, code: 'budget_money' }, 'EUR')).toBe(
      'It may cost €90.00; vision has €12.50 left this month.',
    )
    expect(waitingText({ ...of, code: 'budget_hours' }, 'EUR')).toBe(
      'It may use 25 GPU hours; vision has 3.5 GPU hours left this month.',
    )
  })

  it('counts machines, and says the rank', () => {
    const gang: Waiting = { code: 'waiting_gang', text: '', asked: 4, free: 0, rank: 1 }
    expect(waitingText(gang, 'EUR')).toBe('It asks for 4 machines; free for it now: 0.')
    expect(rankText(gang)).toBe('It is next in line.')
    expect(rankText({ ...gang, rank: 2 })).toBe('1 job is ahead.')
    expect(rankText({ ...gang, rank: undefined as never })).toBe('')
  })

  it('the whole organisation has a name of its own', () => {
    expect(waitingText({ code: 'project_held', text: '' }, 'EUR')).toBe('The organisation is held.')
  })

  it('falls back to the words of a newer server', () => {
    const words = waitingWords(whole('levitating'), 'EUR')
    expect(words.text).toBe("server's words for levitating")
    expect(words.change).toBe("server's words")
  })
})

describe('how a job ended', () => {
  it.each(languages)('every code of the API has words of our own in %s', (language, texts) => {
    catalogueUse(language, texts)
    expect(endings.length).toBeGreaterThan(20)
    for (const ending of endings) {
      const said = endingText({ ending, exit_code: ending === 'exit_code' ? 3 : null })
      expect([ending, said]).not.toEqual([ending, ending])
      expect(said).not.toMatch(/[{}]|undefined|^$/)
    }
  })
})
