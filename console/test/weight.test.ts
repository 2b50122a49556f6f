import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Rollup } from 'vite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { FIRST_PAGE_KB_MAX, type Part, type Weight, weightOf, weightText } from '../weight'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

afterEach(() => vi.unstubAllEnvs())

async function built(): Promise<Weight> {
  vi.stubEnv('NODE_ENV', 'production') // React's own build for users
  const made = await build({ root, logLevel: 'silent', build: { write: false } })
  return weightOf((made as Rollup.RolldownOutput).output as Part[])
}

describe('the weight of the console', () => {
  it('the first page keeps a sixth of its budget for later, and every page fits it', async () => {
    const weight = await built()
    expect(weight.first, weightText(weight)).toBeGreaterThan(50)
    expect(weight.first, weightText(weight)).toBeLessThan((FIRST_PAGE_KB_MAX * 5) / 6)
    expect(weight.pages[0]?.kb, weightText(weight)).toBeLessThan(FIRST_PAGE_KB_MAX)
    expect(weight.pages.map(({ page }) => page)).toContain('run')
  }, 60_000)

  it('counts what is imported at once and its style sheets, each once', () => {
    // Text that does not compress to nothing.
    const text = Array.from({ length: 4000 }, (_, i) => Math.sin(i).toFixed(6)).join('')
    const chunk = (fileName: string, more: Partial<Part> = {}): Part => ({
      fileName,
      type: 'chunk',
      code: text,
      ...more,
    })
    const css: Part = { fileName: 'a.css', type: 'asset', source: text }
    const shared = chunk('shared.js')
    const viteMetadata = { importedCss: new Set(['a.css']) }
    const entry = chunk('main.js', { isEntry: true, imports: ['shared.js'], viteMetadata })
    const page = chunk('page.js', {
      facadeModuleId: '/c/src/features/run/page.tsx',
      imports: ['shared.js', 'main.js'],
    })
    const one = weightOf([{ ...shared, isEntry: true }]).first
    const weight = weightOf([entry, shared, css, page, chunk('apart.js')])
    expect(weight.first).toBeCloseTo(3 * one, 1)
    expect(weight.pages).toHaveLength(1)
    expect(weight.pages[0]?.kb).toBeCloseTo(4 * one, 1)
  })
})
