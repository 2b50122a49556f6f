// Starts the real programs for browser tests: a server on a port of the kernel's choice in a folder
// of its own, and trainings against it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
export const programs = join(root, 'build')

/** Ends a program and waits until it is gone. */
export async function programStop(child) {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}

/** Resolves with the match of the first line that fits; rejects when the program ends before. */
function lineOf(child, stream, pattern) {
  return new Promise((resolve, reject) => {
    const seen = []
    createInterface({ input: stream }).on('line', (line) => {
      seen.push(line)
      const match = pattern.exec(line)
      if (match) resolve(match)
    })
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${seen.join('\n')}`)))
  })
}

export async function serverStart() {
  const folder = mkdtempSync(join(tmpdir(), 'euvyra-browser.'))
  const args = ['--data', join(folder, 'data'), '--listen', '127.0.0.1:0']
  const child = spawn(join(root, 'build/euvyrad'), args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [, url, token] = await lineOf(child, child.stdout, /open (http:\/\/\S+)\/setup#(\S+)/)
  const close = async () => {
    await programStop(child)
    rmSync(folder, { recursive: true, force: true })
  }
  return { url, token, folder, close }
}

/**
 * The training of training.py under `euvyra exec`, which records what it prints: `leg()` lets it do
 * one more leg, `end()` lets it finish.
 */
export function trainingStart(server, key) {
  const env = {
    ...process.env,
    EUVYRA_SERVER: server.url,
    EUVYRA_API_KEY: key,
    EUVYRA_DIR: join(server.folder, 'runs'),
    EUVYRA_BIN: join(root, 'build/euvyra'),
    EUVYRA_STRICT: '1',
  }
  const python = join(root, '.venv/bin/python')
  const script = join(root, 'tests/browser/training.py')
  const args = ['exec', '--project', 'digits', '--name', 'watched-run', '--', python, script]
  const child = spawn(join(root, 'build/euvyra'), args, {
    env,
    cwd: server.folder,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  return {
    leg: () => child.stdin.write('go\n'),
    end: () => new Promise((resolve) => child.once('exit', resolve).stdin.end()),
    stop: () => programStop(child),
  }
}

/** Calls of a server's API with a key; throws what is not a 2xx. */
export function apiOf(server, key) {
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...(body ? { 'Content-Type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text ? JSON.parse(text) : null
  }
}

/** The first administrator, signed in on the page; what the answer calls has a key of theirs. */
export async function adminMake(server, page) {
  const password = 'correct horse battery staple'
  await page.goto(`${server.url}/setup#${server.token}`)
  await page.getByLabel('Login name').fill('ada')
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByLabel('Password again').fill(password)
  await page.getByRole('button', { name: 'Create administrator' }).click()
  await page.getByRole('heading', { name: 'Projects' }).waitFor()
  await page.goto(`${server.url}/keys`)
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('What it is for').fill('test')
  await page.getByRole('button', { name: 'Create' }).click()
  return apiOf(server, await page.getByRole('note', { name: 'test' }).textContent())
}

const letters = (n) =>
  Array.from(
    { length: n },
    () => 'abcdefghijklmnopqrstuvwxyz234567'[Math.floor(Math.random() * 32)],
  )
export const makeId = (letter) => letter + letters(12).join('')

/** An agent that the test plays: it says over HTTP what an agent says. */
export async function agentPlay(server, admin, name, capacity) {
  const id = makeId('a')
  await admin('PUT', `/agents/${id}`, { name, target: 'rack' })
  const { key } = await admin('POST', '/keys', { kind: 'agent', name, agent: id })
  const api = apiOf(server, key)
  const boot = makeId('b').slice(1)
  const held = []
  const poll = (wait_ms = 0, more = {}) =>
    api('POST', `/agents/${id}/poll`, {
      ...{ boot, version: 'test', wait_ms, attempts: held, capacity },
      ...more,
    })
  /** What its machine is. */
  const say = (node) => poll(0, { node })
  /** What it read of its GPUs. */
  const read = (gpus, samples) => api('POST', `/agents/${id}/samples`, { boot, gpus, samples })
  const tell = ({ attempt, token }, verb, body) =>
    api('POST', `/attempts/${attempt}/${verb}`, body, { 'Euvyra-Attempt-Token': token })
  /** Takes the next offer and runs it. */
  const start = async () => {
    for (let i = 0; i < 60; i++) {
      const [offer] = (await poll(1000)).offers
      if (!offer) continue
      await tell(offer, 'accept')
      held.push({ attempt: offer.attempt, token: offer.token })
      await tell(offer, 'status', { state: 'starting' })
      await tell(offer, 'status', { state: 'running' })
      return offer
    }
    throw new Error(`${name} was offered nothing`)
  }
  /** What it finds of a service by asking it. */
  const health = (offer, state, problem) =>
    tell(offer, 'status', {
      ...{ state: 'running', health: state },
      ...(problem ? { health_problem: problem } : {}),
    })
  const end = (offer, how) =>
    tell(offer, 'status', { state: 'ended', run_time_ms: 5000, final: true, ...how })
  await poll()
  return { poll, say, read, start, health, end }
}
