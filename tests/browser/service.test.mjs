// Services on the job page and in the queue, against the real server with an agent that the test
// plays. One story, told in order.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { axeRun, browserStart, pageOpen, troubleOf } from './browser.mjs'
import { adminMake, agentPlay, makeId, serverStart } from './programs.mjs'

const shots = process.env.EUVYRA_SHOTS // a folder for pictures of what is seen
let browser
let server
let opened
let page
let admin
let agent
let job
let offer

before(async () => {
  browser = await browserStart()
  server = await serverStart()
  opened = await pageOpen(browser, { locale: 'en-US' })
  page = opened.page
  admin = await adminMake(server, page)
  await admin('PUT', '/projects/vision', {})
  await admin('PUT', '/targets/rack', { price_gpu_hour_micro: 2_000_000 })
  agent = await agentPlay(server, admin, 'rack1', {
    ...{ slots: 4, cpus: 16, memory_bytes: 2 ** 36, gpus: 8, gpu_type: 'H100' },
    features: ['health'],
  })
  job = makeId('j')
  await admin('PUT', `/projects/vision/jobs/${job}`, {
    ...{ run: makeId('r'), name: 'serve-digits' },
    spec: {
      ...{ command: ['python', 'serve.py'], gpus: 1, kind: 'service' },
      health: { port: 8000, path: '/up', every_s: 5 },
    },
  })
  offer = await agent.start()
})
after(async () => {
  await browser?.close()
  await server?.close()
})

async function isClean() {
  assert.deepEqual(await axeRun(page), [], page.url())
  assert.deepEqual(await troubleOf(opened), [], page.url())
}

async function shot(name, of = page) {
  if (!shots) return
  mkdirSync(shots, { recursive: true })
  await of.screenshot({ path: join(shots, `${name}.png`), fullPage: true })
}

const badge = (state) => page.locator(`.page-head [data-health=${state}]`)

describe('the health of a service', () => {
  it('is beside the state of the job, and follows what its agent finds', async () => {
    await agent.health(offer, 'starting', 'connection refused')
    await page.goto(`${server.url}/jobs/${job}`)
    await badge('starting').getByText('Coming up').waitFor()
    await page.getByText('GET :8000/up, every 5 s').waitFor()
    await page.getByText('Service: starts again whenever it ends').waitFor()
    await agent.health(offer, 'healthy')
    await badge('healthy').waitFor() // without a reload
    await agent.health(offer, 'unhealthy', 'no answer within 5 s')
    await badge('unhealthy').waitFor()
    const facts = page.getByRole('definition').filter({ has: page.locator('[data-health]') })
    await facts.getByText('no answer within 5 s').waitFor()
    const told = page.locator('.timeline [data-kind=health]')
    assert.deepEqual(await told.locator('.timeline-detail').allTextContents(), [
      'Coming up · connection refused',
      'Healthy',
      'Unhealthy · no answer within 5 s',
    ])
    await isClean()
    await shot('service-job')
  })

  it('is in the queue beside what runs, which has no end', async () => {
    await page.goto(`${server.url}/queue`)
    const row = page.locator(`tr[data-job=${job}]`)
    await row.locator('[data-health=unhealthy]').waitFor()
    const heads = await page.locator('table:has(tr[data-job]) thead th').allTextContents()
    const cells = await row.locator('th, td').allTextContents()
    assert.equal(cells[heads.findIndex((head) => /ends/i.test(head))], '')
    await isClean()
    await shot('service-queue')
  })

  it('is counted in the line of its replicas, and shown with each', async () => {
    const array = makeId('j')
    await admin('PUT', `/projects/vision/jobs/${array}`, {
      ...{ run: makeId('r'), name: 'front' },
      spec: {
        ...{ command: ['python', 'front.py'], kind: 'service', replicas: 2 },
        health: { port: 9000 },
      },
    })
    await agent.health(await agent.start(), 'healthy')
    await agent.health(await agent.start(), 'unhealthy', 'HTTP 500')
    await page.goto(`${server.url}/queue`)
    await page.getByText('Running: 2, Healthy: 1').waitFor()
    await page.getByRole('button', { name: /front/ }).click()
    await page.locator('tr [data-health=healthy]').waitFor()
    await isClean()
    await shot('service-replicas')
    await admin('POST', `/jobs/${array}/cancel`)
  })

  it('is said in German and Russian too', async () => {
    const storageState = await opened.context.storageState()
    const narrow = { width: 390, height: 844 }
    const wide = { width: 1360, height: 860 }
    for (const [locale, colorScheme, viewport, word, problem] of [
      ['de-DE', 'dark', narrow, 'Gestört', 'keine Antwort innerhalb von 5 s'],
      ['ru-RU', 'light', wide, 'Неисправно', 'нет ответа в течение 5 с'],
    ]) {
      const other = await pageOpen(browser, { locale, colorScheme, viewport, storageState })
      await other.page.goto(`${server.url}/jobs/${job}`)
      await other.page.locator('.page-head [data-health]').getByText(word).waitFor()
      await other.page.getByText(problem).first().waitFor()
      await shot(`service-${locale}`, other.page)
      await other.context.close()
    }
  })

  it('is why its attempt ended, and the service waits to start again', async () => {
    const reason = '3 health checks in a row failed: HTTP 503'
    await agent.end(offer, { signal: 15, stopped: true, unhealthy: true, reason })
    await page.goto(`${server.url}/jobs/${job}`)
    await page.locator('.why[data-code=backoff]').waitFor()
    await page.getByText('3 times in a row: HTTP 503').first().waitFor()
    const told = page.locator('.timeline [data-kind=ended] .timeline-detail')
    assert.match(
      await told.textContent(),
      /^It did not answer its health check · Signal 15.* · 3 times in a row: HTTP 503$/,
    )
    assert.equal(await page.locator('.page-head [data-health]').count(), 0)
    await shot('service-ended')
  })
})
