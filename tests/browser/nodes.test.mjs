// Cluster and machine pages against the real server, with an agent that the test plays. One story,
// told in order.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { axeRun, browserStart, pageOpen, troubleOf } from './browser.mjs'
import { adminMake, agentPlay, makeId, serverStart } from './programs.mjs'

let browser
let server
let opened
let page
let admin
let agent

const gpus = Array.from({ length: 4 }, (_, n) => ({
  ...{ uuid: `GPU-${n}`, name: 'NVIDIA A100-SXM4-80GB', type: 'A100' },
  ...{ memory_kind: 'dedicated', memory_bytes: 80 * 2 ** 30 },
}))

before(async () => {
  browser = await browserStart()
  server = await serverStart()
  opened = await pageOpen(browser, { locale: 'en-US' })
  page = opened.page
  admin = await adminMake(server, page)
  await admin('PUT', '/projects/vision', {})
  await admin('PUT', '/targets/rack', {})
})
after(async () => {
  await browser?.close()
  await server?.close()
})

async function isClean() {
  assert.deepEqual(await axeRun(page), [], page.url())
  assert.deepEqual(await troubleOf(opened), [], page.url())
}

/** A reading in which GPU 0 is as busy as this. */
const reading = (number, percent, attempts = []) => ({
  ...{ number, age_ms: 0, node: [12, 2 ** 30, 2 ** 33, 1.5], attempts },
  gpus: gpus.map((_, n) => [n === 0 ? percent : 0, n === 0 ? 40 * 2 ** 30 : 0, 40, 90]),
})

describe('a cluster', () => {
  it('without machines says how to attach one', async () => {
    await page.goto(`${server.url}/clusters`)
    await page.getByRole('link', { name: 'Open rack' }).click()
    await page.getByText('No machine at this target yet.').waitFor()
    await page.getByText('euvyra-agent --server').waitFor()
    await isClean()
  })

  it('shows machines with GPUs as squares, the ill one first with its reason', async () => {
    agent = await agentPlay(server, admin, 'well', {
      ...{ slots: 4, cpus: 16, memory_bytes: 2 ** 36, gpus: 4, gpu_type: 'A100' },
    })
    await agent.say({ os: 'Debian', gpus })
    const ill = await agentPlay(server, admin, 'zebra', {
      ...{ slots: 4, cpus: 16, memory_bytes: 2 ** 36, gpus: 3, gpu_type: 'A100' },
    })
    const broken = gpus.map((one, n) => (n === 2 ? { ...one, ill: 'it does not answer' } : one))
    await ill.say({ os: 'Debian', gpus: broken })
    await page.goto(`${server.url}/clusters/rack`)
    await page.getByText('GPU 2: It does not answer').first().waitFor()
    const names = await page.locator('tbody th').allTextContents()
    assert.deepEqual(names, ['zebra', 'well'])
    assert.equal(await page.locator('.gpu-square').count(), 8)
    await isClean()
  })
})

describe('a machine', () => {
  it('shows what its GPUs do, and the job that has them', async () => {
    const job = makeId('j')
    await admin('PUT', `/projects/vision/jobs/${job}`, {
      ...{ run: makeId('r'), name: 'bert', spec: { command: ['x'], gpus: 1, exclude: ['zebra'] } },
    })
    const offer = await agent.start()
    await agent.read(
      gpus.map((one) => one.uuid),
      [
        reading(1, 93, [
          { attempt: offer.attempt, gpus: [0], energy_mj: 7_200_000_000, percent: 93 },
        ]),
      ],
    )
    await page.getByRole('link', { name: 'well' }).click()
    const first = page.getByRole('region', { name: 'GPU 0' })
    await first.getByText('93 %', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Jobs now' }).getByText('2 kWh').waitFor()
    assert.equal(new URL(page.url()).search, '?node=well')
    await page.getByRole('button', { name: '7 days' }).click()
    await page.waitForURL('**/clusters/rack?node=well&range=7d')
    await first.locator('path.strip-line').first().waitFor({ state: 'attached' })
    await isClean()
    await first.getByRole('link', { name: 'bert' }).click()
    await page.waitForURL(`**/jobs/${job}`)
    await page.getByText('2 kWh').waitFor()
    await isClean()
  })

  it('is put into maintenance, left out, and taken in again', async () => {
    await page.goto(`${server.url}/clusters/rack?node=well`)
    await page.getByRole('button', { name: 'Maintenance …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('new fans')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Draining: new fans').waitFor()
    await page.getByRole('button', { name: 'Leave out' }).click()
    await page.getByText('Left out of its target').waitFor()
    await isClean()
    await page.getByRole('button', { name: 'End maintenance' }).click()
    await page.getByText('Draining: new fans').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Take in again' }).click()
    await page.getByText('Left out of its target').waitFor({ state: 'detached' })
    assert.deepEqual((await admin('GET', '/targets/rack')).excluded, [])
    await page.getByRole('link', { name: 'All machines of rack' }).click()
    await page.locator('.gpu-square').first().waitFor()
  })
})
