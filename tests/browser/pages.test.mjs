// Every page of the console in a real browser, against made-up answers: both themes, three
// languages, no error, no policy report, no broken rule of accessibility.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { axeRun, browserStart, pageOpen, troubleOf } from './browser.mjs'
import { fixtureStart } from './fixture.mjs'

let browser
let server
before(async () => {
  browser = await browserStart()
  server = await fixtureStart()
})
after(async () => {
  await browser?.close()
  server?.close()
})

const looks = {
  'light English': { colorScheme: 'light', locale: 'en-US' },
  'dark German': { colorScheme: 'dark', locale: 'de-DE' },
  'light Russian': { colorScheme: 'light', locale: 'ru-RU' },
}

function pages() {
  const run = server.runs[0].id
  const chosen = server.runs.slice(1, 4).map((one) => one.id)
  return {
    '/': 'table tbody tr',
    '/queue': '[data-job]',
    '/agents': 'table tbody tr',
    '/keys': 'table tbody tr',
    '/p/vision/runs': '[role=rowheader]',
    '/p/vision/runs?view=split': '[data-points="12000"]',
    [`/p/vision/runs?view=charts&sel=${chosen.join(',')}`]: '[data-points="3600"]',
    '/p/speech/runs': '.command',
    [`/p/vision/r/${run}/overview`]: '.key-values',
    [`/p/vision/r/${run}/charts`]: '[data-points="1200"]',
    [`/p/vision/r/${run}/system`]: '[data-points="1200"]',
    [`/p/vision/r/${run}/log`]: '.log-line',
    [`/p/vision/r/${run}/job`]: '.timeline li',
    [`/jobs/${server.jobs[3].id}`]: '.log-line',
    '/nowhere': '.empty',
  }
}

async function pagesAreClean(look, wanted) {
  const opened = await pageOpen(browser, look)
  for (const [path, ready] of Object.entries(wanted)) {
    await opened.page.goto(server.url + path)
    await opened.page.locator(ready).first().waitFor()
    assert.deepEqual(await axeRun(opened.page), [], path)
    assert.deepEqual(await troubleOf(opened), [], path)
  }
  await opened.context.close()
}

describe('every page is clean', () => {
  for (const [name, look] of Object.entries(looks)) {
    it(`in ${name}`, () => pagesAreClean(look, pages()))
  }

  it('when there is nothing yet', async () => {
    server.world.empty = true
    const paths = ['/', '/queue', '/agents', '/keys']
    await pagesAreClean(
      looks['dark German'],
      Object.fromEntries(paths.map((path) => [path, '.empty'])),
    )
    server.world.empty = false
  })
})

describe('signing in', () => {
  it('keeps the address, says what is wrong, and ends with sign-out', async () => {
    server.world.signedIn = false
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/queue`)
    await page.getByLabel('Login name').fill('ada')
    await page.getByLabel('Password').fill('wrong')
    assert.deepEqual(await axeRun(page), [])
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('Login name or password is wrong.').waitFor()
    await page.getByLabel('Password').fill('correct horse battery')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Queue' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/queue')
    await page.getByRole('button', { name: 'ada' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
    server.world.signedIn = true
  })

  it('the set-up link works once and leaves no token in the address', async () => {
    Object.assign(server.world, { signedIn: false, setup: true })
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/setup#${'t'.repeat(43)}`)
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    assert.equal(new URL(page.url()).hash, '')
    assert.deepEqual(await axeRun(page), [])
    await page.getByLabel('Password again').fill('correct horse')
    await page.getByRole('button', { name: 'Create administrator' }).click()
    await page.getByText('The two passwords differ.').waitFor()
    await page.getByLabel('Password again').fill('correct horse battery')
    await page.getByRole('button', { name: 'Create administrator' }).click()
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})

describe('the frame', () => {
  it('theme and language are chosen in the menu and remembered', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/`)
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await background()
    await page.getByRole('button', { name: 'ada' }).click()
    await page.getByRole('menu').waitFor()
    // An open menu lies beside the landmarks, as the pattern has it.
    assert.deepEqual(await axeRun(page, ['region']), [])
    await page.getByRole('menuitemradio', { name: 'Dark' }).click()
    const isOther = (before) => getComputedStyle(document.body).backgroundColor !== before
    await page.waitForFunction(isOther, light)
    await page.getByRole('button', { name: 'ada' }).click()
    await page.getByRole('menuitemradio', { name: 'Русский' }).click()
    await page.getByRole('heading', { name: 'Проекты' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Проекты' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'ru')
    assert.notEqual(await background(), light)
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })

  it('keys go everywhere and are off in text fields', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/`)
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    await page.getByRole('heading', { name: 'Queue' }).waitFor()
    await page.keyboard.press('?')
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await list.waitFor()
    assert.deepEqual(await axeRun(page), [])
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('gq')
    assert.equal(await page.getByRole('searchbox').inputValue(), 'gq')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('speech')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/p/speech/runs')
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })

  it('tabs share one stream, and the next tab takes over', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    await opened.page.goto(`${server.url}/queue`)
    await opened.page.getByText('Live', { exact: true }).waitFor()
    const second = await opened.context.newPage()
    await second.goto(`${server.url}/queue`)
    await second.getByText('Live', { exact: true }).waitFor()
    assert.equal(server.streams(), 1)
    server.jobs[0].name = 'renamed-while-watched'
    server.send('job', { id: server.jobs[0].id, project: 'demo' })
    await second.getByText('renamed-while-watched').waitFor()
    await opened.page.close()
    server.jobs[0].name = 'renamed-again'
    await second.waitForFunction(() => navigator.locks.query().then((q) => q.held.length === 1))
    await second.getByText('renamed-again').waitFor()
    await opened.context.close()
  })
})

describe('the runs page', () => {
  it('sorts, filters, selects and overlays, and the address has it all', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/runs`)
    await page.getByRole('columnheader', { name: 'Duration' }).getByRole('button').click()
    await page.waitForURL('**sort=-duration**')
    const first = page.getByRole('rowheader').first()
    await page.waitForFunction(
      () => document.querySelector('[role=rowheader]').textContent === 'amber-digits-64',
    )
    await page.getByLabel('Filter by name or id').fill('brisk')
    await page.getByText('9 runs').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('2 runs selected').waitFor()
    await page.keyboard.press('d')
    await page.locator('[data-points="2400"]').first().waitFor()
    const address = page.url()
    await page.goto(address)
    await page.locator('[data-points="2400"]').first().waitFor()
    assert.equal(await first.count(), 0)
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'Owner' }).check()
    await page.waitForURL('**cols=**owner**')
    assert.deepEqual(await axeRun(page), [])
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })

  it('a chart zooms by dragging, shows values on hover, and as a table', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/r/${server.runs[0].id}/charts?m=train%2Floss`)
    const panel = page.getByRole('region', { name: 'train/loss' })
    await panel.locator('canvas').waitFor()
    const box = await panel.locator('.u-over').boundingBox()
    await page.mouse.move(box.x + box.width / 2, box.y + 40)
    await panel.locator('.chart-tip').waitFor()
    await page.mouse.move(box.x + box.width / 4, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 2, box.y + 40, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL('**range=**')
    await panel.locator('.chart:not([data-points="1200"])').waitFor()
    await page.keyboard.press('z')
    await panel.locator('[data-points="1200"]').waitFor()
    await panel.getByRole('button', { name: 'Show as table' }).click()
    await panel.getByRole('cell', { name: '1,200' }).waitFor()
    await panel.getByRole('button', { name: 'Full screen' }).click()
    assert.deepEqual(await axeRun(page), [])
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })

  it('the log is searched and shows text as text', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/r/${server.runs[0].id}/log`)
    await page.getByText('größer').waitFor()
    assert.equal(await page.getByText('50%|#####').count(), 0)
    await page.getByLabel('Search in the log').fill('WARNING')
    await page.getByText('1 / 1').waitFor()
    await page.locator('mark', { hasText: 'warning' }).waitFor()
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})

describe('the queue', () => {
  it('says why a job waits, and cancelling asks first', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/queue`)
    await page.getByText('It asks for 4 (cores); free now: 1.').waitFor()
    await page.getByRole('link', { name: 'train-digits-4' }).click()
    await page.getByRole('button', { name: 'Cancel job' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel job' })
    await dialog.waitFor()
    assert.deepEqual(await axeRun(page), [])
    await dialog.getByRole('button', { name: 'Cancel job' }).click()
    await page.locator('.page-head [data-state=stopping]').waitFor()
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})
