// The console against the real server: set up, sign in, watch a training, read its log. One story,
// told in order: each step builds on the one before.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { axeRun, browserStart, pageOpen, troubleOf } from './browser.mjs'
import { serverStart, trainingStart } from './programs.mjs'

const password = 'correct horse battery staple'
let browser
let server
let opened
let page
let key
let training

before(async () => {
  browser = await browserStart()
  server = await serverStart()
  opened = await pageOpen(browser, { locale: 'en-US' })
  page = opened.page
})
after(async () => {
  await training?.stop()
  await browser?.close()
  await server?.close()
})

async function isClean() {
  assert.deepEqual(await axeRun(page), [], page.url())
  assert.deepEqual(await troubleOf(opened), [], page.url())
}

describe('a newcomer', () => {
  it('makes the first administrator with the link', async () => {
    await page.goto(`${server.url}/setup#${server.token}`)
    await page.getByLabel('Login name').fill('ada')
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByLabel('Password again').fill(password)
    await page.getByRole('button', { name: 'Create administrator' }).click()
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.getByText('No project yet.').waitFor()
    await isClean()
  })

  it('signs out and in again', async () => {
    await page.getByRole('button', { name: 'ada' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Login name').fill('ada')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await isClean()
  })

  it('makes a key, which is shown once', async () => {
    await page.goto(`${server.url}/keys`)
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('What it is for').fill('laptop')
    await page.getByRole('button', { name: 'Create' }).click()
    key = await page.getByRole('note', { name: 'laptop' }).textContent()
    assert.match(key, /^euv_user_/)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('rowheader', { name: 'laptop' }).waitFor()
    await isClean()
  })

  it('makes a project', async () => {
    await page.goto(`${server.url}/`)
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByLabel('Short name').fill('digits')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.waitForURL('**/p/digits/runs')
    await page.getByText('No run in this project yet.').waitFor()
    await isClean()
  })
})

describe('a training', () => {
  it('appears in the table while it runs', async () => {
    training = trainingStart(server, key)
    training.leg()
    await page.getByRole('link', { name: 'watched-run' }).waitFor()
    await page.locator('[role=row] [data-state=running]').waitFor()
    await isClean()
  })

  it('is found by a filter, sorted and grouped by the server', async () => {
    const box = page.getByRole('combobox', { name: /^Part of a name/ })
    await box.fill('config.lr = 0.1 and tags = browser and not state = failed')
    await page.getByText('1 run', { exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'lr' }).getByRole('button').click()
    await page.waitForURL('**sort=-config.lr**')
    await page.getByRole('link', { name: 'watched-run' }).waitFor()
    await page.getByRole('button', { name: 'Group' }).click()
    await page.getByRole('checkbox', { name: 'State' }).check()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'State Running 1 run' }).click()
    await page.getByRole('link', { name: 'watched-run' }).waitFor()
    await isClean()
    await page.goto(`${server.url}/p/digits/runs`)
  })

  it('has a chart that grows', async () => {
    await page.getByRole('link', { name: 'watched-run' }).click()
    await page.getByRole('link', { name: 'Charts' }).click()
    const panel = page.getByRole('region', { name: 'train/loss' })
    await panel.locator('[data-points="20"] canvas').waitFor()
    training.leg()
    await panel.locator('[data-points="40"] canvas').waitFor()
    training.leg()
    await panel.locator('[data-points="60"] canvas').waitFor()
    await isClean()
  })

  it('is drawn over the metric that it names, and over steps where that is wanted', async () => {
    const panel = page.getByRole('region', { name: 'train/accuracy' })
    const slider = panel.getByRole('slider')
    await panel.locator('[data-points="60"] canvas').waitFor()
    await slider.focus()
    await page.keyboard.press('End')
    assert.match(await slider.getAttribute('aria-valuetext'), /^epoch 14\.75: /)
    await panel.getByRole('button', { name: 'Draw over steps' }).click()
    await panel.locator('[data-points="60"] canvas').waitFor()
    await slider.focus()
    await page.keyboard.press('End')
    assert.match(await slider.getAttribute('aria-valuetext'), /^59: /)
    await isClean()
  })

  it('shows its configuration as it was given', async () => {
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('row', { name: 'seed 20261130' }).waitFor()
    await page.getByRole('row', { name: 'layers [64,32]' }).waitFor()
    await page.getByText('training.py').first().waitFor()
    await isClean()
  })

  it('has a log that follows', async () => {
    await page.getByRole('link', { name: 'Log', exact: true }).click()
    await page.getByText('leg 2 done at step 60 ✓').waitFor()
    training.leg()
    await page.getByText('leg 3 done at step 80 ✓').waitFor()
    await isClean()
  })

  it('ends, with its summary', async () => {
    assert.equal(await training.end(), 0)
    await page.locator('.page-head [data-state=finished]').waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('row', { name: 'best 0.5' }).waitFor()
    await page.getByText('least value, at step 79; less is better').waitFor()
    await page.getByRole('link', { name: 'Charts' }).click()
    const odd = page.getByRole('region', { name: 'odd' })
    await odd.getByText('1 point is not a number and not drawn').waitFor()
    await isClean()
  })

  it('is renamed, tagged, annotated and deleted', async () => {
    await page.getByRole('button', { name: 'More actions for this run' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByLabel('Name of the run').fill('renamed')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'renamed' }).waitFor()
    await page.getByRole('button', { name: 'Add tag' }).click()
    await page.getByLabel('New tag').fill('kept')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Remove tag kept' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('button', { name: 'Add a note' }).click()
    await page.getByRole('textbox', { name: 'Notes' }).fill('<b>as text</b>')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('<b>as text</b>').waitFor()
    await page.getByRole('button', { name: 'More actions for this run' }).click()
    await page.getByRole('menuitem', { name: 'Delete run' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.waitForURL('**/p/digits/runs')
    await page.getByText('No run in this project yet.').waitFor()
    await isClean()
  })
})
