// One Chromium for a test file, and pages that note every error, policy report and failed request.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// The console's own packages: ES modules take no search path from outside.
const require = createRequire(
  join(dirname(fileURLToPath(import.meta.url)), '../../console/package.json'),
)
const { chromium } = require('playwright-core')
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

export async function browserStart() {
  return chromium.launch({
    executablePath: process.env.EUVYRA_CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-quic',
    ],
  })
}

/** A page of its own profile. `trouble` holds what went wrong in it, as text. */
export async function pageOpen(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options })
  const page = await context.newPage()
  const trouble = []
  page.on('pageerror', (error) => trouble.push(`error: ${error}`))
  page.on('console', (message) => {
    // A refused sign-in is an answer, not trouble of the page.
    const expected = /status of (401|404|409)/.test(message.text())
    if (message.type() === 'error' && !expected) trouble.push(`console: ${message.text()}`)
  })
  await page.addInitScript(() => {
    globalThis.policyReports = []
    document.addEventListener('securitypolicyviolation', (event) => {
      globalThis.policyReports.push(
        `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`,
      )
    })
  })
  return { page, context, trouble }
}

/** Everything that went wrong so far, policy reports included. */
export async function troubleOf({ page, trouble }) {
  const reports = await page.evaluate(() => globalThis.policyReports)
  return [...trouble, ...reports.map((report) => `policy: ${report}`)]
}

/** Runs in the page: rules broken, each with its first places. */
async function axeSummary(without) {
  const rules = Object.fromEntries(without.map((name) => [name, { enabled: false }]))
  const found = await globalThis.axe.run({ resultTypes: ['violations'], rules })
  const place = (node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`
  return JSON.stringify(
    found.violations.map((rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map(place).join(' | ')}`),
  )
}

/** Rules of accessibility that the page breaks. Goes through the debug protocol, past the policy. */
export async function axeRun(page, without = []) {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axeSource })
  const { result } = await session.send('Runtime.evaluate', {
    expression: `(${axeSummary})(${JSON.stringify(without)})`,
    awaitPromise: true,
    returnByValue: true,
  })
  await session.detach()
  return JSON.parse(result.value)
}
