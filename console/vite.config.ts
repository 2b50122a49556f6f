import react from '@vitejs/plugin-react'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import { type Part, weightOf, weightText } from './weight.ts'

/** Prints what the first page weighs, so that a change which makes it heavy is seen at once. */
const printWeight: Plugin = {
  name: 'print-weight',
  apply: 'build',
  writeBundle(_, bundle) {
    process.stdout.write(`${weightText(weightOf(Object.values(bundle) as Part[]))}\n`)
  },
}

// The built console is embedded into the server and runs under console/csp.txt: no inline script, no
// inline style, nothing from elsewhere.
export default defineConfig({
  plugins: [react(), printWeight],
  build: {
    target: 'es2022',
    // These know light-dark(); for older ones the minifier would tie it to the system's theme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  test: { include: ['test/**/*.test.ts', 'test/**/*.test.tsx'], environment: 'node' },
})
