// Queue, job, quota and launch pages against the real server, with agents that the test plays. One
// story, told in order.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { axeRun, browserStart, pageOpen, troubleOf } from './browser.mjs'
import { adminMake, agentPlay, makeId, programs, serverStart } from './programs.mjs'

let browser
let server
let opened
let page
let admin
let agent

before(async () => {
  browser = await browserStart()
  server = await serverStart()
  opened = await pageOpen(browser, { locale: 'en-US' })
  page = opened.page
  admin = await adminMake(server, page)
  await admin('PUT', '/projects/vision', {})
  await admin('PUT', '/targets/rack', { price_gpu_hour_micro: 2_000_000 })
  await admin('PUT', '/queues/night', { priority: -10 })
  agent = await agentPlay(server, admin, 'rack1', {
    ...{ slots: 4, cpus: 16, memory_bytes: 2 ** 36, gpus: 8, gpu_type: 'H100' },
  })
})
after(async () => {
  await browser?.close()
  await server?.close()
})

async function isClean() {
  assert.deepEqual(await axeRun(page), [], page.url())
  assert.deepEqual(await troubleOf(opened), [], page.url())
}

const submit = async (name, spec, more = {}) => {
  const job = makeId('j')
  const whole = { command: ['python', 'train.py'], ...spec }
  await admin('PUT', `/projects/vision/jobs/${job}`, {
    ...{ run: makeId('r'), name, spec: whole },
    ...more,
  })
  return job
}

/** What the command line would submit. */
const dryRun = (line) =>
  execFileSync(
    'bash',
    ['-c', line.replace('euvyra launch', `${programs}/euvyra launch --dry-run`)],
    {
      ...{ cwd: server.folder, encoding: 'utf8' },
      env: { ...process.env, EUVYRA_SERVER: server.url, EUVYRA_API_KEY: 'unused' },
    },
  )

/** The lines of a file without their order. */
const membersOf = (file) =>
  file
    .split('\n')
    .map((line) => line.replace(/^ *- /, (mark) => ' '.repeat(mark.length)))
    .sort()

/** A refusal that the test asked for is no trouble. */
function refusalSeen(status) {
  const at = opened.trouble.findIndex((text) => text.includes(`status of ${status}`))
  assert.notEqual(at, -1)
  opened.trouble.splice(at, 1)
}

let running
let offer
let waiting

describe('the launch form', () => {
  it('says where a job fits while it is written, and launches it', async () => {
    await page.goto(`${server.url}/launch?project=vision`)
    const fits = page.getByRole('region', { name: 'Where it fits now' })
    await page.getByRole('textbox', { name: 'Command' }).fill('python train.py --epochs 3')
    await page.getByLabel('GPUs').fill('16')
    await fits.getByText('no machine is large enough').waitFor()
    await page.getByLabel('GPUs').fill('6')
    await fits.getByText('Fits now: 1 machine').waitFor()
    await page.getByRole('textbox', { name: 'Configuration' }).fill('lr=0.1')
    await page.getByRole('textbox', { name: 'Time limit' }).fill('2h')
    await fits.getByText('€12.00 per hour').waitFor()
    await fits.getByText('At most €24.00 in 2 h 0 min').waitFor()
    const when = page.getByRole('region', { name: 'When it might start' })
    await when.getByText('It would start at once.').waitFor()
    const command = await page.getByRole('note', { name: 'As a command' }).textContent()
    await page.getByRole('button', { name: 'As a file' }).click()
    const file = await page.getByRole('note', { name: 'As a file' }).textContent()
    writeFileSync(join(server.folder, 'job.yaml'), file)
    const said = dryRun(command)
    assert.match(said, /gpus: 6/)
    assert.match(said, /timeout_s: 7200/)
    assert.equal(dryRun('euvyra launch -f job.yaml --project vision --no-code'), said)
    await isClean()
    await page.getByRole('button', { name: 'Launch', exact: true }).click()
    await page.waitForURL('**/jobs/j*')
    running = page.url().split('/').pop()
    const made = await admin('GET', `/jobs/${running}`)
    assert.deepEqual(
      [made.spec.gpus, made.spec.timeout_s, made.spec.config],
      [6, 7200, { lr: 0.1 }],
    )
    offer = await agent.start()
    await page.locator('.page-head [data-state=running]').waitFor()
    await isClean()
  })
})

describe('the launch form for many jobs', () => {
  it('submits an array after another job, and its file is that of the command line', async () => {
    const first = await submit('prepare', { gpus: 64 })
    await page.goto(`${server.url}/launch?project=vision`)
    await page.getByRole('textbox', { name: 'Command' }).fill('python train.py')
    await page.getByRole('textbox', { name: 'Name' }).fill('sweep')
    await page.getByRole('textbox', { name: 'Array' }).fill('0-9')
    await page.getByLabel('Add a job').selectOption({ label: 'prepare' })
    assert.equal(await page.getByRole('textbox', { name: 'After' }).inputValue(), first)
    await page.getByRole('textbox', { name: 'After' }).fill(`${first}:any`)
    const array = page.getByRole('textbox', { name: 'Array' })
    await array.fill('0-9%')
    await page.getByText('Write FROM-TO, FROM-TO:STEP or FROM-TO%LIMIT.').first().waitFor()
    await array.fill('0-9999%2')
    await page.getByRole('button', { name: 'Launch', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: '1000' }).waitFor()
    assert.equal(await array.getAttribute('aria-invalid'), 'true')
    refusalSeen(400)
    await array.fill('0-9%2')
    const command = await page.getByRole('note', { name: 'As a command' }).textContent()
    await page.getByRole('button', { name: 'As a file' }).click()
    const file = await page.getByRole('note', { name: 'As a file' }).textContent()
    writeFileSync(join(server.folder, 'array.yaml'), file)
    const said = dryRun(command)
    assert.match(said, /limit: 2/)
    assert.match(said, /any: true/)
    const same = dryRun('euvyra launch -f array.yaml --project vision --no-code')
    assert.deepEqual(membersOf(same), membersOf(said))
    await isClean()
    await page.getByRole('button', { name: 'Launch', exact: true }).click()
    await page.waitForURL('**/jobs/j*')
    const id = page.url().split('/').pop()
    const { items } = await admin('GET', `/jobs?array=${id}`)
    assert.deepEqual(
      [items.length, items[0].array.limit, items[0].waiting.code, items[0].name],
      [10, 2, 'after', 'sweep-0'],
    )
    await page.goto(`${server.url}/queue`)
    const line = page.locator(`[data-job=${id}]`)
    await line.getByText('Queued: 10').waitFor()
    assert.equal(await page.locator('[data-job]').filter({ hasText: 'sweep-' }).count(), 0)
    await line.getByRole('button', { name: 'Show the jobs of sweep' }).click()
    await page.getByRole('link', { name: 'sweep-9' }).waitFor()
    await isClean()
    await line.getByRole('button', { name: 'Hide the jobs of sweep' }).click()
    await admin('POST', `/jobs/${id}/cancel`)
    await admin('POST', `/jobs/${first}/cancel`)
    await page.locator('.queue-section').getByText('Cancelled: 10').waitFor()
  })

  it('says at the field what the server refuses of a service and its data', async () => {
    await page.goto(`${server.url}/launch?project=vision`)
    await page.getByRole('textbox', { name: 'Command' }).fill('python serve.py')
    await page.getByLabel('Kind').selectOption('service')
    await page.getByRole('spinbutton', { name: 'Replicas' }).fill('2')
    await page.getByRole('textbox', { name: 'Health check' }).fill('8000/up')
    await page.getByRole('textbox', { name: 'Volumes' }).fill('data:/data:ro')
    await page.getByLabel('Target').selectOption('rack')
    await page.locator('[data-target=rack]').getByText('has no volume or bucket data').waitFor()
    const file = page.getByRole('button', { name: 'As a file' })
    await file.click()
    const text = await page.getByRole('note', { name: 'As a file' }).textContent()
    assert.match(text, /replicas: 2\n/)
    assert.match(text, /port: 8000\n\s+path: "?\/up/)
    await page
      .getByRole('region', { name: 'When it might start' })
      .getByText('It would be refused: target "rack" has no volume "data"')
      .waitFor()
    await page.getByRole('button', { name: 'Launch', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'has no volume "data"' }).waitFor()
    const volumes = page.getByRole('textbox', { name: 'Volumes' })
    assert.equal(await volumes.getAttribute('aria-invalid'), 'true')
    refusalSeen(422)
    await isClean()
  })
})

describe('the queue', () => {
  it('says in words why a job waits, in three languages', async () => {
    waiting = await submit('hungry', { gpus: 4, timeout_s: 3600 })
    await page.goto(`${server.url}/queue`)
    const row = page.locator(`[data-job=${waiting}]`)
    await row.getByText('It asks for 4 GPUs; the most that is free on one machine is 2').waitFor()
    await row.getByText('It starts when something ends there.').waitFor()
    await page.getByText('6 GPUs, 1 core').waitFor()
    await page.locator('[data-share=vision]').getByText('6 used').waitFor()
    await isClean()
    for (const [locale, words] of [
      ['de-DE', 'Er verlangt 4 GPUs; auf einer Maschine höchstens frei: 2 GPUs.'],
      ['ru-RU', 'Нужно: 4 GPU; на одной машине свободно не больше: 2 GPU.'],
    ]) {
      const other = await pageOpen(browser, {
        ...{ locale, storageState: await opened.context.storageState() },
      })
      await other.page.goto(`${server.url}/queue`)
      await other.page.getByText(words).waitFor()
      assert.deepEqual(await axeRun(other.page), [], locale)
      await other.context.close()
    }
  })

  it('is held and resumed by an administrator', async () => {
    const block = page.getByRole('region', { name: 'Queue default' })
    await block.getByRole('button', { name: 'Hold' }).click()
    await block.getByText('Queue default is held.').waitFor()
    await block.getByRole('button', { name: 'Resume' }).click()
    await block.getByText('It asks for 4 GPUs').waitFor()
    await isClean()
  })
})

describe('the job page', () => {
  it('says why it waits, holds, moves and releases it', async () => {
    await page.goto(`${server.url}/jobs/${waiting}`)
    const why = page.getByRole('region', { name: 'Why it waits' })
    await why.getByText('It asks for 4 GPUs').waitFor()
    await why.getByText('It may start about').waitFor()
    await page
      .getByRole('region', { name: 'Targets' })
      .getByText('too little is free now')
      .waitFor()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Priority').fill('7')
    const preview = page.getByRole('dialog').getByRole('status')
    await preview.getByText('It would pass').waitFor()
    assert.deepEqual(await axeRun(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await why.getByText('It is held.').waitFor()
    await isClean()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Priority').fill('7')
    await page.getByRole('dialog').getByLabel('Queue').selectOption('night')
    assert.deepEqual(await axeRun(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'night' }).waitFor()
    await page.getByRole('button', { name: 'Release' }).click()
    await why.getByText('It asks for 4 GPUs').waitFor()
    const job = await admin('GET', `/jobs/${waiting}`)
    assert.deepEqual([job.state, job.priority, job.queue], ['queued', 7, 'night'])
  })

  it('says how an attempt ended, and launches it again', async () => {
    await page.goto(`${server.url}/jobs/${running}`)
    await page.locator('.page-head [data-state=running]').waitFor()
    await agent.end(offer, { exit_code: 3, reason: 'it exited with code 3' })
    await page.locator('.page-head [data-state=failed]').waitFor()
    await page.getByRole('region', { name: 'Attempts' }).getByText('Exit code 3').waitFor()
    await page.locator('.timeline [data-kind=ended]').getByText('Exit code 3').waitFor()
    await isClean()
    await page.getByRole('link', { name: 'Launch again' }).click()
    const command = page.getByRole('textbox', { name: 'Command' })
    await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('train.py'))
    assert.equal(await command.inputValue(), 'python train.py --epochs 3')
    assert.equal(await page.getByLabel('GPUs').inputValue(), '6')
  })
})

describe('quota and budget of a project', () => {
  it('are shown at every level and changed by an administrator', async () => {
    await page.goto(`${server.url}/p/vision/quota`)
    await page.getByText('No budget is set').waitFor()
    await page.getByRole('button', { name: 'Change the budget' }).click()
    await page.getByLabel('GPU hours a month').fill('2000')
    await page.getByLabel('Time zone of its months').fill('Mars/Base')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Time zone of its months').fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'GPU hours' }).getByText('2,000').first().waitFor()
    await page.getByText('From the next month on: Europe/Berlin').waitFor()
    await page.getByRole('button', { name: 'Change the share of vision' }).click()
    await page.getByLabel('Quota: GPUs').fill('8')
    await page.getByLabel('Jobs at once').fill('20')
    assert.deepEqual(await axeRun(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('[data-share=vision]').getByText('of 8 used').waitFor()
    const share = await admin('GET', '/projects/vision/share')
    assert.deepEqual([share.quota.gpus, share.parallel_jobs], [8, 20])
    const trouble = (await troubleOf(opened)).filter((line) => !/status of 4\d\d/.test(line))
    assert.deepEqual(trouble, [])
    assert.deepEqual(await axeRun(page), [])
  })
})
