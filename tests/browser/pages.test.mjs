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
    '/launch?project=vision': '.fits li',
    [`/launch?from=${server.runs[3].id}`]: '.launch-same',
    '/p/vision/quota': '.share-section',
    '/clusters': '.sums',
    '/clusters/default': '.gpu-square',
    '/clusters/default?node=rack1': '.strip-line',
    '/clusters/default?node=rack3&range=7d': '.strip-line',
    '/clusters/spot': '.command',
    '/agents': 'table tbody tr',
    '/keys': 'table tbody tr',
    '/p/vision/runs': '[role=rowheader]',
    '/p/vision/runs?view=split': '[data-points="12000"]',
    [`/p/vision/runs?view=charts&sel=${chosen.join(',')}`]: '[data-points="3600"]',
    '/p/vision/runs?group=state%2Cconfig.lr&open=state+%3D+%22finished%22+and+config.lr+%3D+0.1':
      '[role=rowheader]',
    '/p/speech/runs': '.command',
    [`/p/vision/r/${run}/overview`]: '.key-values',
    [`/p/vision/r/${run}/charts`]: '[data-points="1200"]',
    [`/p/vision/r/${run}/system`]: '[data-points="1200"]',
    [`/p/vision/r/${run}/log`]: '.log-line',
    [`/p/vision/r/${run}/job`]: '.timeline li',
    [`/jobs/${server.jobs[3].id}`]: '.log-line',
    [`/jobs/${server.jobs[1].id}`]: '[data-code=quota]',
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
    const paths = ['/', '/queue', '/clusters', '/agents', '/keys']
    await pagesAreClean(
      looks['dark German'],
      Object.fromEntries(paths.map((path) => [path, '.empty'])),
    )
    server.world.empty = false
  })
})

describe('a run that lives on', () => {
  it('is asked to stop, shows its changes, its alerts, its ranks and what was set aside', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    const run = server.runs[0].id
    await page.goto(`${server.url}/p/vision/r/${run}/overview`)
    await page.getByText('The loss is not finite').waitFor()
    await page.getByText('2 ranks, on 2 hosts').waitFor()
    await page.getByText('before step 500').waitFor()
    await page.getByText('git+https://example.org/torch@0123456').waitFor()
    await page.getByRole('button', { name: 'Show changes' }).click()
    await page.getByText('+lr = 0.3').waitFor()
    assert.deepEqual(await axeRun(page), [])
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('asked to stop').waitFor()
    await page.goto(`${server.url}/p/vision/r/${run}/charts`)
    const asked = page.waitForRequest((one) => {
      const body = one.url().endsWith('/metrics/query') ? one.postDataJSON() : {}
      return body.by === 'rank' && body.hidden === true
    })
    await page.getByLabel('Steps set aside').check()
    await page.getByLabel('Lines').selectOption('rank')
    await asked
    await page.goto(`${server.url}/p/vision/r/${run}/log`)
    const text = page.waitForRequest((one) => one.url().includes('&writer='))
    await page.getByLabel('Whose text').selectOption({ index: 2 })
    await text
    await page.goto(`${server.url}/p/vision/runs`)
    await page.getByRole('button', { name: '3 alerts' }).click()
    await page.getByRole('link', { name: 'amber-digits-1' }).first().waitFor()
    assert.deepEqual(await axeRun(page), [])
    await page.goto(`${server.url}/`)
    await page.getByRole('button', { name: 'Settings of vision' }).click()
    await page.getByLabel('Silence until a run counts as crashed').fill('900')
    const saved = page.waitForRequest((one) => one.method() === 'PATCH')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.equal((await saved).postDataJSON().silent_s, 900)
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})

describe('the machines of a run', () => {
  it('stand together where they are alike, and open to each host', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/r/${server.runs[0].id}/overview`)
    const card = page.getByRole('region', { name: '8 machines' })
    const alike = card.getByText('4 hosts, each 8 × NVIDIA H100 80GB HBM3')
    await card.getByText('ranks 0–31 · 192 CPUs · 2 TiB · driver 550.54.15 · CUDA 12.4').waitFor()
    await card.getByText('gpu-17: 3 × NVIDIA H100').waitFor()
    await card.getByText('ranks 32–33, 36').waitFor()
    await card.getByText('2 more hosts are not listed.').waitFor()
    assert.equal(await card.getByRole('table').count(), 0)
    await alike.focus()
    await alike.click()
    await card.getByText('gpu-03').click()
    await card.getByText('NVIDIA H100 80GB HBM3, 80 GiB, GPU-gpu-03-7').waitFor()
    assert.equal(await card.getByRole('table').count(), 1)
    assert.deepEqual(await axeRun(page), [])
    await page.goto(`${server.url}/p/vision/r/${server.runs[1].id}/overview`)
    await page.getByRole('region', { name: 'Machine', exact: true }).waitFor()
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})

describe('the runs table by keys', () => {
  it('is one stop, walks its cells, says and shows what a value is, opens, chooses and sorts', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    const keys = async (...names) => {
      for (const name of names) await page.keyboard.press(name)
    }
    await page.goto(`${server.url}/p/vision/runs?cols=state%2Csummary.loss`)
    const grid = page.getByRole('grid')
    await page.getByRole('rowheader').first().waitFor()
    assert.equal(
      await grid
        .locator('a, button, input')
        .evaluateAll((all) => all.filter((one) => one.tabIndex >= 0).length),
      0,
    )
    const active = async () =>
      page.locator(`[id="${await grid.getAttribute('aria-activedescendant')}"]`)
    await grid.focus()
    assert.equal(await (await active()).getAttribute('role'), 'columnheader')
    await keys('ArrowDown', 'End')
    const cell = await active()
    assert.match(
      await cell.ariaSnapshot(),
      /gridcell ".*least value, at step 1,160; less is better"/,
    )
    await cell.locator('.cell-note', { hasText: 'at step 1,160' }).waitFor()
    assert.deepEqual(await axeRun(page), [])
    await keys('PageDown', 'Home')
    assert.match(await (await active()).textContent(), /digits-\d\d$/)
    await keys('Control+Home', ' ')
    assert.ok(await page.getByRole('checkbox', { name: /amber-digits-1$/ }).isChecked())
    await keys('ArrowUp', 'End', 'Enter')
    await page.waitForURL('**sort=**summary.loss**')
    await keys('ArrowDown', 'Enter')
    await page.waitForURL('**/overview**')
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})

describe('what a metric means', () => {
  it('marks the best run, says which value is shown, and draws a metric over another one', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/runs`)
    const best = page.getByRole('gridcell', { name: /^Best of these runs: /, includeHidden: false })
    await best.first().waitFor()
    const losses = server.runs.map((one) => one.summary.loss).filter((loss) => loss > 0)
    const loss = Math.min(...losses)
    await page.goto(`${server.url}/p/vision/runs?sort=summary.loss&cols=summary.loss`)
    await best.first().waitFor()
    assert.equal(await best.count(), 1)
    const said = 'least value, at step 1,160; less is better'
    const text = await best.first().textContent()
    assert.match(text, new RegExp(`min.*${loss.toPrecision(3).slice(0, 5)}`))
    assert.equal(
      await best.first().locator('.figure').getAttribute('title'),
      `Best of these runs; ${said}`,
    )
    assert.deepEqual(await axeRun(page), [])

    const chosen = server.runs.slice(1, 4).map((one) => one.id)
    await page.goto(`${server.url}/p/vision/runs?view=charts&sel=${chosen.join(',')}`)
    const panel = page.getByRole('region', { name: 'validation/loss' })
    await panel.scrollIntoViewIfNeeded()
    await panel.locator('[data-points="3600"] canvas').waitFor()
    await panel.getByText('Over epoch, as most of these runs say; not all do').waitFor()
    const slider = panel.getByRole('slider')
    await slider.focus()
    await page.keyboard.press('End')
    assert.match(await slider.getAttribute('aria-valuetext'), /^epoch 29\.9: /)
    assert.deepEqual(await axeRun(page), [])
    const steps = page.waitForRequest((one) => {
      const body = one.url().endsWith('/metrics/query') ? one.postDataJSON() : {}
      return body.metrics?.[0] === 'validation/loss' && body.x === 'step'
    })
    await panel.getByRole('button', { name: 'Draw over steps' }).click()
    await steps
    await panel.getByRole('button', { name: 'Draw over epoch' }).click()
    await panel.getByText('Over epoch, as most').waitFor()
    // Chosen for all charts, another axis wins.
    await page.getByLabel('Horizontal axis').selectOption('time')
    await panel.getByRole('button', { name: 'Draw over' }).waitFor({ state: 'detached' })
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })
})

describe('the settings of a project', () => {
  it('say what they mean, what they would delete, and what is wrong where', async () => {
    for (const look of Object.values(looks)) {
      const opened = await pageOpen(browser, look)
      await opened.page.goto(`${server.url}/`)
      await opened.page.locator('tbody tr', { hasText: 'Vision' }).getByRole('button').click()
      await opened.page.locator('dialog, [role=dialog]').locator('input').last().waitFor()
      assert.deepEqual(await axeRun(opened.page), [])
      await opened.context.close()
    }
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/`)
    await page.getByRole('button', { name: 'Settings of demo' }).click()
    const days = page.getByLabel('Delete runs so many days after they ended')
    assert.equal(await days.inputValue(), '90')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Settings of vision' }).click()
    assert.equal(await days.inputValue(), '')
    await days.fill('1')
    await page.getByText(/^Runs tagged “keep” stay\..* \d+ runs would be deleted now\.$/).waitFor()
    server.world.refusesDays = true
    const refused = page.waitForResponse((one) => one.request().method() === 'PATCH')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.equal((await refused).status(), 400)
    const fault = page.getByRole('alert')
    await fault.getByText('retain_days: is 0 to 36500').waitFor()
    assert.equal(await days.getAttribute('aria-invalid'), 'true')
    assert.deepEqual(await axeRun(page), [])
    server.world.refusesDays = false
    const saved = page.waitForRequest((one) => one.method() === 'PATCH')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.deepEqual((await saved).postDataJSON(), {
      title: 'Vision',
      description: 'Digit and image classifiers',
      silent_s: 0,
      retain_days: 1,
      idle_gpus: 'warn',
      idle_minutes: 30,
    })
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    opened.trouble.splice(0, opened.trouble.length) // the refusal that was asked for
    await opened.context.close()
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
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
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
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
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

  it('a page that cannot be fetched says so, and the others go on', async () => {
    const { page, context } = await pageOpen(browser, looks['light English'])
    await page.goto(`${server.url}/`)
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.route('**/assets/*.js', (route) => route.abort())
    await page.getByRole('link', { name: 'Queue' }).click()
    await page.getByRole('alert').getByText('Something went wrong.').waitFor()
    assert.deepEqual(await axeRun(page), [])
    await page.getByRole('link', { name: 'Projects' }).first().click()
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.unroute('**/assets/*.js')
    await page.getByRole('link', { name: 'Queue' }).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await context.close()
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
    server.jobs[0].name = 'renamed-again' // of which nobody hears until the next tab asks
    await opened.page.close()
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
    // A name that is cut is whole for those who hear it.
    await page.getByRole('link', { name: server.runs[3].name, exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'Duration' }).getByRole('button').click()
    await page.waitForURL('**sort=-runtime**')
    const first = page.getByRole('rowheader').first()
    await page.waitForFunction(
      () => document.querySelector('[role=rowheader]').textContent === 'amber-digits-64',
    )
    await page.getByRole('combobox', { name: /^Part of a name/ }).fill('brisk')
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

  it('says where a filter is wrong and completes its keys', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/runs`)
    await page.getByText('64 runs').waitFor()
    const box = page.getByRole('combobox', { name: /^Part of a name/ })
    await box.fill('state = finished and nmae = x')
    const fault = page.getByRole('alert')
    await fault.getByText('did you mean name?').waitFor()
    assert.equal(await fault.locator('mark').textContent(), 'n')
    assert.deepEqual(await axeRun(page), [])
    assert.ok((await page.getByRole('rowheader').count()) > 0, 'the rows stay')
    await box.fill('')
    await box.pressSequentially('momen')
    await page.getByRole('option', { name: 'config.optimizer.momentum' }).waitFor()
    assert.deepEqual(await axeRun(page), [])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    assert.equal(await box.inputValue(), 'config.optimizer.momentum ')
    await box.pressSequentially('= 0.9 and config.lr < 0.02')
    await page.getByText('21 runs').waitFor()
    await page.waitForURL('**q=config.optimizer.momentum**')
    await box.fill('config.never = 1')
    await page.getByText('no run has config.never').waitFor()
    await page.getByRole('button', { name: 'Clear filter' }).click()
    await page.getByText('64 runs').waitFor()
    // The browser itself notes each refused request.
    const trouble = (await troubleOf(opened)).filter((line) => !/status of 400/.test(line))
    assert.deepEqual(trouble, [])
    await opened.context.close()
  })

  it('scrolls through 100,000 rows and asks only for those in sight', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    const asked = []
    page.on('request', (request) => {
      if (/\/huge\/runs\?/.test(request.url())) asked.push(request.url())
    })
    await page.goto(`${server.url}/p/huge/runs`)
    await page.getByText('100,000 runs').waitFor()
    const grid = page.getByRole('grid')
    assert.equal(await grid.getAttribute('aria-rowcount'), '100001')
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2))
    await page.getByRole('link', { name: 'row 50000', exact: true }).waitFor()
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.getByRole('link', { name: 'row 99999', exact: true }).waitFor()
    assert.ok((await page.getByRole('row').count()) < 100)
    assert.ok(asked.length < 20, `${asked.length} questions`)
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })

  it('groups by several keys, one group open at a time', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/runs`)
    await page.getByRole('button', { name: 'Group' }).click()
    const panel = page.getByRole('dialog', { name: 'Group' })
    await panel.getByRole('checkbox', { name: 'State' }).check()
    await panel.getByRole('checkbox', { name: /^lr/ }).check()
    await panel.getByRole('checkbox', { name: 'Owner' }).check()
    assert.ok(await panel.getByRole('checkbox', { name: /^seed/ }).isDisabled())
    await panel.getByRole('checkbox', { name: 'Owner' }).uncheck()
    await page.waitForURL('**group=state%2Cconfig.lr**')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^State Finished lr 0.1 / }).click()
    await page.getByRole('rowheader').first().waitFor()
    assert.equal(await page.getByRole('grid').count(), 1)
    await page.waitForURL('**open=**')
    await page.reload()
    await page.getByRole('rowheader').first().waitFor()
    await page.getByText('2 smaller groups are not shown.').waitFor()
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

  it('hovering names each run and its value, a click pins them, Escape takes the pin off', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    const chosen = server.runs.slice(1, 4)
    const sel = chosen.map((one) => one.id).join(',')
    await page.goto(`${server.url}/p/vision/runs?view=charts&sel=${sel}&m=train%2F`)
    const panel = page.getByRole('region', { name: 'train/accuracy' })
    const other = page.getByRole('region', { name: 'train/loss' }).locator('canvas')
    await panel.locator('[data-points="3600"] canvas').waitFor()
    await other.waitFor()
    const drawn = () => other.evaluate((canvas) => canvas.toDataURL())
    const untouched = await drawn()
    const becomes = (same) =>
      other.evaluate(
        (canvas, { same, untouched }) =>
          new Promise((resolve) => {
            const look = () =>
              (canvas.toDataURL() === untouched) === same ? resolve() : requestAnimationFrame(look)
            look()
          }),
        { same, untouched },
      )

    // Over the lines: a tooltip with all three, the nearest of them marked; the other chart follows.
    const box = await panel.locator('.u-over').boundingBox()
    const tip = panel.locator('.chart-tip')
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.3)
    await tip.waitFor()
    assert.equal(await tip.locator('.chart-tip-row').count(), 3)
    for (const one of chosen) assert.ok((await tip.textContent()).includes(one.name))
    assert.equal(await tip.locator('.chart-tip-near').count(), 1)
    await becomes(false)

    // Pinned, it stays when the pointer goes; its chart is clean for those who hear it.
    await page.mouse.down()
    await page.mouse.up()
    const pinned = page.getByRole('group', { name: 'Pinned values' })
    await pinned.waitFor()
    const values = await pinned.textContent()
    await page.mouse.move(box.x, box.y - 150)
    assert.equal(await pinned.textContent(), values)
    assert.deepEqual(await axeRun(page), [])
    await page.keyboard.press('Escape')
    await pinned.waitFor({ state: 'detached' })
    await becomes(true)
    assert.ok(page.url().includes('/p/vision/runs'))

    // The same with keys alone.
    const chart = panel.getByRole('slider', { name: 'train/accuracy' })
    await chart.focus()
    await page.keyboard.press('End')
    await tip.waitFor()
    const last = await chart.getAttribute('aria-valuetext')
    await page.keyboard.press('Shift+ArrowLeft')
    await page.keyboard.press('ArrowDown')
    const next = await chart.getAttribute('aria-valuetext')
    assert.notEqual(next, last)
    assert.equal(chosen.filter((one) => next.includes(one.name)).length, 1)
    await page.keyboard.press('Enter')
    await pinned.waitFor()
    await becomes(false)
    await pinned.getByRole('button', { name: 'Unpin' }).click()
    await pinned.waitFor({ state: 'detached' })
    assert.deepEqual(await troubleOf(opened), [])
    await opened.context.close()
  })

  it('full screen ends with Escape, and only that', async () => {
    const opened = await pageOpen(browser, looks['light English'])
    const { page } = opened
    await page.goto(`${server.url}/p/vision/r/${server.runs[0].id}/charts?m=train%2Floss`)
    const panel = page.getByRole('region', { name: 'train/loss' })
    await panel.locator('canvas').waitFor()
    await panel.hover()
    await panel.getByRole('button', { name: 'Full screen' }).click()
    await page.locator('.panel-full').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.panel-full').waitFor({ state: 'detached' })
    assert.ok(page.url().includes('/charts'))
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
    await page
      .getByText('It asks for 8 GPUs; the most that is free on one machine is 1 GPU.')
      .waitFor()
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
