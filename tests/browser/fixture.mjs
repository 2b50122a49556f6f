// A server of made-up answers for the console's own tests: every state, long names, odd values. It
// serves the built console under the real policy. The real server is tested in end_to_end.test.mjs.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventsOf, jobOf, jobs } from './fixture-jobs.mjs'
import { nodeRoutes } from './fixture-nodes.mjs'
import { shareRoutes, targets } from './fixture-shares.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const dist = join(root, 'console/dist')
const csp = readFileSync(join(root, 'console/csp.txt'), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .join('; ')
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const now = Date.now()
const ago = (ms) => new Date(now - ms).toISOString()
const minute = 60_000
const id = (letter, n) =>
  letter +
  n
    .toString(32)
    .padStart(12, 'a')
    .replace(/[0189]/g, (c) => 'wxyz'['0189'.indexOf(c)])
const states = ['running', 'finished', 'failed', 'crashed', 'killed', 'preempted', 'pending']

function run(n) {
  const state = n < 2 ? 'running' : states[n % states.length]
  const started = state === 'pending' ? null : ago(n * 37 * minute + 5 * minute)
  const words = ['amber', 'brisk', 'calm', 'dusky', 'eager', 'fabled', 'golden']
  return {
    id: id('r', n + 1),
    project: 'vision',
    state,
    name:
      n === 3
        ? 'resnet50-imagenet-a-very-long-name-that-differs-only-at-its-very-end-17'
        : `${words[n % 7]}-digits-${n + 1}`,
    reason:
      {
        failed: 'it exited with code 1',
        crashed: 'nothing was heard of it for 300 s and its log has no end',
        killed: 'it was ended by SIGKILL',
      }[state] ?? '',
    exit_code: state === 'failed' ? 1 : state === 'finished' ? 0 : null,
    signal: state === 'killed' ? 9 : null,
    oom: false,
    owner: n % 4 ? 'ada' : 'grace',
    job: n % 3 ? null : id('j', n + 1),
    group: n % 2 ? 'baseline' : '',
    job_type: 'train',
    host: 'rack1',
    created_at: ago(n * 37 * minute + 6 * minute),
    started_at: started,
    ended_at: state === 'running' || state === 'pending' ? null : ago(n * 37 * minute + minute),
    duration_ms: started ? (n + 1) * 41_300 : 0,
    cost_micro: n % 3 ? null : (n + 1) * 10_420,
    tags: n % 5 ? [] : ['baseline', 'digits'],
    notes: n === 0 ? 'First run with the new learning rate.' : '',
    config: {
      lr: [0.1, 0.03, 0.01][n % 3],
      batch_size: 32 << (n % 3),
      epochs: 30,
      optimizer: { name: n % 2 ? 'adam' : 'sgd', momentum: 0.9 },
      seed: n,
    },
    summary:
      state === 'pending'
        ? {}
        : {
            accuracy: 0.9 + (n % 9) / 100,
            loss: n === 5 ? 'NaN' : 0.4 / (n + 1),
            'best/epoch': 20 + (n % 10),
          },
  }
}
const runs = Array.from({ length: 64 }, (_, n) => run(n))
/** What a sidecar tells of a host with so many GPUs. */
const machine = (host, gpus, driver = '550.54.15') => ({
  host,
  os: 'Debian GNU/Linux 12',
  kernel: 'Linux 6.1.0',
  arch: 'x86_64',
  cpu: { model: 'AMD EPYC 9654', cores: 96, threads: 192 },
  memory_bytes: 2164663517184,
  disk_bytes: 7681501126656,
  slurm_job_id: '4711',
  driver,
  cuda: '12.4',
  gpus: Array.from({ length: gpus }, (_, i) => ({
    name: 'NVIDIA H100 80GB HBM3',
    uuid: `GPU-${host}-${i}`,
    memory_bytes: 85520809984,
  })),
})
const ranks = (from, count) => Array.from({ length: count }, (_, i) => from + i)
const cluster = [
  ...[0, 1, 2, 3].map((n) => ({
    host: `gpu-0${n + 1}`,
    ranks: ranks(n * 8, 8),
    machine: machine(`gpu-0${n + 1}`, 8),
  })),
  { host: 'gpu-17', ranks: [32, 33, 36], machine: machine('gpu-17', 3, '535.161.08') },
  { host: 'cpu-data-loader-with-a-long-name.example.org', ranks: [], machine: null },
]
const detail = (one) => ({
  ...one,
  machines: one.id === id('r', 1) ? cluster : [],
  host_count: one.id === id('r', 1) ? 8 : 1,
  command: ['python', 'examples/digits/train.py', '--epochs', '30'],
  parent: one.id === id('r', 1) ? id('r', 9) : null,
  parent_step: one.id === id('r', 1) ? 500 : null,
  parent_exists: true,
  has_hidden: one.id === id('r', 1),
  redacted: 3,
  code: {
    git: {
      commit: '0123456789abcdef0123456789abcdef01234567',
      branch: 'main',
      remote: 'https://example.org/vision.git',
      diff_sha256: 'ab'.repeat(32),
    },
    untracked: ['notes.txt', 'sweep.yaml'],
    untracked_count: 2,
    package_sources: { torch: 'git+https://example.org/torch@0123456' },
    python: '3.11.2',
    packages: Object.fromEntries(
      [
        'numpy',
        'scipy',
        'scikit-learn',
        'joblib',
        'threadpoolctl',
        'euvyra',
        'torch',
        'pillow',
        'tqdm',
      ].map((name, i) => [name, `1.${i}.0`]),
    ),
  },
  machine: {
    hostname: 'rack1',
    cpu: 'AMD EPYC 9654',
    cpu_count: 96,
    memory_bytes: 824633720832,
    os: 'Debian 12',
    gpus: [],
  },
  console_bytes: 4096,
  unknown_records: 2,
})
const metricNames = [
  'train/loss',
  'train/accuracy',
  'train/learning_rate',
  'validation/loss',
  'validation/accuracy',
  'epoch',
]
const systemNames = [
  'cpu/percent',
  'memory/used_bytes',
  'disk/read_bytes_per_s',
  'network/sent_bytes_per_s',
]
const projects = [
  {
    name: 'vision',
    title: 'Vision',
    description: 'Digit and image classifiers',
    created_at: ago(90 * 1440 * minute),
    role: 'owner',
    run_count: 64,
    running_count: 2,
    last_run_at: ago(6 * minute),
    cost_micro: 18_340_000,
    silent_s: 300,
    silent_is_default: true,
    retain_days: 0,
    idle_gpus: 'warn',
    idle_minutes: 30,
  },
  {
    silent_s: 300,
    silent_is_default: true,
    retain_days: 90,
    name: 'demo',
    title: 'demo',
    description: '',
    created_at: ago(1440 * minute),
    role: 'admin',
    run_count: 1,
    running_count: 0,
    last_run_at: ago(190 * minute),
    cost_micro: 4200,
  },
  {
    name: 'speech',
    title: 'Speech',
    description: '',
    created_at: ago(1440 * minute),
    role: 'viewer',
    run_count: 0,
    running_count: 0,
    last_run_at: null,
    cost_micro: 0,
  },
]
const logLine = (i) => {
  const clock = `\x1b[2m12:0${i % 6}:${String(i % 60).padStart(2, '0')}\x1b[0m`
  const warning = i === 50 ? ' \x1b[31;1mwarning: gradient is NaN\x1b[0m' : ''
  return `${clock} epoch ${i} \x1b[32mloss\x1b[0m ${(2 / (i + 1)).toFixed(4)}${warning}`
}
const logEnd = ' 10%|#\r 50%|#####\r100%|##########| done\nДанные ✓ größer\n'
const log = `${Array.from({ length: 400 }, (_, i) => logLine(i)).join('\n')}\n${logEnd}`

/** The binary form of an answer, as docs/internals/metric-store.md has it. */
function columns(all) {
  const names = ['x', 'x_last', 'min', 'max', 'first', 'last', 'counts']
  const head = {
    exact: true,
    series_columns: names,
    series: all.map(({ run, metric, count, not_finite, x }) => ({
      ...{ run, metric, count, not_finite, buckets: x.length },
    })),
  }
  const json = JSON.stringify(head)
  const text = Buffer.from(json + ' '.repeat(-Buffer.byteLength(json) & 7))
  const start = Buffer.alloc(16)
  start.write('EUVCOL01')
  start.writeUInt32LE(text.length, 8)
  const numbers = Float64Array.from(
    all.flatMap((one) => names.flatMap((name) => one[name].map(Number))),
  )
  return Buffer.concat([start, text, Buffer.from(numbers.buffer)])
}

function series(query) {
  const out = []
  for (const [r, name] of query.runs.entries()) {
    for (const metric of query.metrics) {
      const points = 300
      const x = Array.from({ length: points }, (_, i) =>
        query.x === 'metric'
          ? i / 10
          : query.x === 'step'
            ? i * 4
            : query.x === 'time'
              ? now - 3e6 + i * 9000
              : i * 9000,
      )
      const seed = name.charCodeAt(12) * 7 + name.charCodeAt(11) + r
      const noise = (i) => Math.sin(i * 12.9898 + seed * 78.233) * 0.5
      const value = (i) =>
        metric.includes('loss')
          ? 2.2 * Math.exp(-i / (60 + (seed % 9) * 12)) + 0.08 + noise(i) * 0.06
          : metric.includes('accuracy')
            ? 1 - 0.9 * Math.exp(-i / (40 + (seed % 7) * 10)) + noise(i) * 0.02
            : Math.abs(50 + noise(i) * 40)
      const last = x.map((_, i) =>
        metric === 'train/loss' && r === 0 && i === 120 ? 'NaN' : value(i),
      )
      const from = query.from ?? -Infinity
      const to = query.to ?? Infinity
      const keep = x.map((v, i) => (v >= from && v <= to ? i : -1)).filter((i) => i >= 0)
      const pick = (list) => keep.map((i) => list[i])
      out.push({
        run: name,
        metric,
        count: keep.length * 4,
        not_finite: last.includes('NaN') ? 1 : 0,
        x: pick(x),
        x_last: pick(x),
        min: pick(x.map((_, i) => value(i) - 0.05)),
        max: pick(x.map((_, i) => value(i) + 0.05)),
        first: pick(last),
        last: pick(last),
        counts: pick(x.map(() => 4)),
      })
    }
  }
  return out
}

const agent = (n, state, seen) => ({
  id: id('a', n),
  name: `rack${n}`,
  target: 'default',
  state,
  version: '0.1.0',
  cpus: 96,
  memory_bytes: 824633720832,
  gpus: 8,
  gpu_type: 'H100',
  slots: 8,
  running: n === 1 ? 2 : 0,
  cpus_free: n === 1 ? 44 : 96,
  memory_free_bytes: 412316860416,
  gpus_free: n === 1 ? 1 : 8,
  last_seen_at: ago(seen),
})
const agents = [
  agent(1, 'online', 3000),
  agent(2, 'unreachable', 15 * minute),
  agent(3, 'online', 4000),
]
const keyText = 'euv_user_kaaaaaaaaaaaj_notarealsecretnotarealsecretnotarealsecret'
const keys = [
  {
    id: id('k', 1),
    kind: 'user',
    name: 'laptop',
    owner: 'ada',
    created_at: ago(9000 * minute),
    expires_at: null,
    last_used_at: ago(2 * minute),
  },
]

const page = (items) => ({ items, next_cursor: null })

const refusal = (code, message) => ({ code, message, request_id: 'abc' })
const some = (world, items) => [200, page(world.empty ? [] : items)]

/** What a run has under a key of the runs table. */
function held(one, key) {
  const plain = { runtime: one.duration_ms, created: one.created_at, cost: one.cost_micro }
  const [kind, ...rest] = key.split('.')
  if (kind !== 'config' && kind !== 'summary') return plain[key] ?? one[key] ?? null
  return one[kind][rest.join('.')] ?? rest.reduce((at, part) => at?.[part], one[kind]) ?? null
}

/** As much of the filter language as the tests need: comparisons joined by "and". */
function holds(one, clause) {
  const list = /^id in \((.*)\)$/.exec(clause)
  if (list) return list[1].split(', ').includes(one.id)
  const old = /^ended < (\d+)d ago$/.exec(clause)
  if (old) return one.ended_at !== null && now - Date.parse(one.ended_at) > old[1] * 1440 * minute
  if (/^(tags !=|state not in) /.test(clause)) return !one.tags.includes('keep')
  const [, key, operation, text] = /^([\w.]+) (=|<|is) (.*)$/.exec(clause)
  const value = held(one, key)
  if (operation === 'is') return value === null
  const wanted = /^-?[\d.]+$/.test(text) ? Number(text) : text.replaceAll('"', '')
  return operation === '=' ? value === wanted : value !== null && value < wanted
}

const huge = Array.from({ length: 100_000 }, (_, n) => {
  const row = { id: id('r', n + 1000), project: 'huge', name: `row ${n}` }
  return { ...run(n % 50), ...row }
})
const projectRuns = { vision: runs, huge }

function runsOf(url, part) {
  const search = url.searchParams.get('search') ?? ''
  const state = url.searchParams.get('state')
  const filter = url.searchParams.get('filter') ?? ''
  const isList = filter.startsWith('id in ')
  const clauses = isList ? [filter] : filter.replace(/[()]/g, '').split(' and ')
  return (projectRuns[part] ?? []).filter(
    (one) =>
      one.name.includes(search) &&
      (!state || one.state === state) &&
      clauses.every((clause) => clause === '' || holds(one, clause)),
  )
}

function sortRuns(list, sort) {
  const key = sort.replace(/^-/, '')
  const way = sort.startsWith('-') ? -1 : 1
  return [...list].sort((a, b) => {
    const [x, y] = [held(a, key), held(b, key)]
    if (x === null || y === null) return Number(x === null) - Number(y === null)
    if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1 // numbers, then NaN
    return way * (typeof x === 'number' ? x - y : x < y ? -1 : x > y ? 1 : 0)
  })
}

/** What define_metric said of the loss and the accuracy; one run says something else. */
function figureOf(one, key) {
  if (key === 'summary.loss') return { figure: 'min', step: 1160, goal: 'minimize' }
  if (key !== 'summary.accuracy') return null
  const differs = one.id === id('r', 3)
  return { figure: differs ? 'last' : 'max', step: 1196, goal: differs ? null : 'maximize' }
}

function runsAnswer({ url, part }) {
  const filter = url.searchParams.get('filter') ?? ''
  const wrong = filter.indexOf('nmae')
  if (wrong >= 0) {
    const fault = { field: 'filter', column: wrong + 1, hint: 'did you mean name?' }
    return [400, { ...refusal('invalid', 'there is no field "nmae"'), ...fault }]
  }
  const found = runsOf(url, part)
  const sort = url.searchParams.get('sort')
  const list = sort ? sortRuns(found, sort) : found
  const skip = Number(url.searchParams.get('skip') ?? 0)
  const end = skip + Number(url.searchParams.get('limit') ?? 100)
  const columns = url.searchParams.get('columns')?.split(',') ?? []
  const items = list.slice(skip, end).map((one) => ({
    ...one,
    ...(columns.length > 0 ? { config: {}, summary: {} } : {}),
    values: columns.map((key) => held(one, key)),
    figures: columns.map((key) => figureOf(one, key)),
  }))
  const warnings = list.length === 0 && filter ? ['no run has config.never'] : []
  return [200, { items, next_cursor: null, total: list.length, columns, warnings }]
}

function groupsAnswer({ url, part }) {
  const by = url.searchParams.get('by').split(',')
  const groups = new Map()
  for (const one of runsOf(url, part)) {
    const values = by.map((key) => held(one, key))
    const literal = (value) => (typeof value === 'number' ? value : `"${value}"`)
    const clause = (key, i) =>
      values[i] === null ? `${key} is null` : `${key} = ${literal(values[i])}`
    const filter = by.map(clause).join(' and ')
    const group = groups.get(filter) ?? { values, count: 0, filter }
    group.count++
    groups.set(filter, group)
  }
  const items = [...groups.values()].sort((a, b) => b.count - a.count)
  const total = items.reduce((sum, group) => sum + group.count, 0)
  return [200, { by, items, group_count: items.length + 2, total }]
}

const offered = [
  ['config.seed', 64, 64],
  ['config.lr', 64, 3],
  ['config.batch_size', 64, 3],
  ['config.optimizer.name', 64, 2],
  ['config.epochs', 64, 1],
  ['config.optimizer.momentum', 64, 1],
  ['summary.accuracy', 60, 9],
  ['summary.loss', 60, 60],
  ['summary.best/epoch', 60, 10],
  ['summary.train/loss', 64, null],
]
function columnsAnswer({ url }) {
  const search = (url.searchParams.get('search') ?? '').toLowerCase()
  const items = offered
    .filter(([key]) => key.slice(key.indexOf('.')).toLowerCase().includes(search))
    .map(([key, count, values]) => ({ key, runs: count, values, more: false }))
  return [200, { items }]
}

function runAnswer({ part, method, body }) {
  const one = runs.find((known) => known.id === part)
  if (!one) return [404, refusal('not_found', 'no such run')]
  if (method === 'PATCH') Object.assign(one, body)
  return [200, detail(one)]
}

function metricsAnswer({ url, part }) {
  const differs = part === id('r', 3)
  const names = url.searchParams.get('kind') === 'system' ? systemNames : metricNames
  const metric = (name) => ({
    name,
    kind: 'metric',
    count: 1200,
    last: 1,
    last_step: 1200,
    min: 0,
    max: 1,
    step_metric:
      name.startsWith('validation/') && !(differs && name.endsWith('loss')) ? 'epoch' : null,
    summary: 'last',
    goal: null,
  })
  return [200, page(names.map(metric))]
}

const writers = [0, 1].map((rank) => ({
  id: id('w', rank + 1),
  kind: 'trainer',
  host: `rack${rank + 1}`,
  rank,
  local_rank: 0,
  world_size: 2,
  started_at: ago(40 * minute),
  ended_at: null,
  exit_code: null,
  signal: null,
  epoch: 0,
  visible_below: null,
  console_bytes: 2048,
  committed_offset: 4096,
  applied_offset: 4096,
  crc: '00000000',
}))
const alerts = ['error', 'warn', 'info'].map((level, i) => ({
  id: 3 - i,
  run: id('r', 1),
  run_name: 'amber-digits-1',
  level,
  title: ['The loss is not finite', 'The learning rate is high', 'Halfway'][i],
  text: i === 0 ? 'at step 1200\nlr = 0.3' : '',
  at: ago((i + 1) * 7 * minute),
  received_at: ago((i + 1) * 7 * minute),
}))
const diff = {
  diff: [
    'diff --git a/train.py b/train.py',
    '--- a/train.py',
    '+++ b/train.py',
    '@@ -1,2 +1,2 @@',
    ' import euvyra',
    '-lr = 0.1',
    '+lr = 0.3',
    '',
  ].join('\n'),
  bytes: 120,
  cut: false,
}

function stopped(part) {
  const one = runs.find((other) => other.id === part)
  one.stopping = true
  return one
}

function cancelAnswer({ part }) {
  const one = jobOf(part)
  one.state = 'stopping'
  return [200, one]
}

const whyAnswer = (part) => {
  const { state, waiting } = jobOf(part)
  return { state, waiting }
}
const released = (part) => Object.assign(jobOf(part), { state: 'queued' })
function jobCreated({ body, url, world }) {
  if (world.refusesJob) {
    return [422, { ...refusal('refused', 'gpus: 99 is more than any machine has'), field: 'gpus' }]
  }
  const name = url.pathname.split('/').pop()
  const made = { ...jobs[0], ...body, id: name, state: 'queued', attempts: [] }
  jobs.push(made)
  world.created = body
  return [201, made]
}

// [method, path with one group, answer]: the first that fits.
const routes = [
  [
    'DELETE',
    /^\/sessions\/current$/,
    ({ world }) => {
      world.signedIn = false
      return [204, null]
    },
  ],
  ['GET', /^\/me$/, ({ world }) => [200, world.me]],
  ['GET', /^\/projects$/, ({ world }) => some(world, projects)],
  [
    'PATCH',
    /^\/projects\/([\w-]+)$/,
    ({ world }) =>
      world.refusesDays
        ? [400, { ...refusal('invalid', 'retain_days: is 0 to 36500'), field: 'retain_days' }]
        : [200, projects[0]],
  ],
  ['PUT', /^\/projects\/([\w-]+)$/, ({ part }) => [201, { ...projects[2], name: part }]],
  ['GET', /^\/projects\/(\w+)\/runs$/, runsAnswer],
  ['GET', /^\/projects\/(\w+)\/run-groups$/, groupsAnswer],
  ['GET', /^\/projects\/\w+\/run-columns$/, columnsAnswer],
  ['POST', /metrics\/query$/, ({ body }) => [200, columns(series(body))]],
  ['GET', /^\/runs\/(\w+)\/metrics$/, metricsAnswer],
  ['GET', /^\/runs\/\w+\/writers$/, () => [200, { items: writers }]],
  ['GET', /^\/runs\/\w+\/alerts$/, () => [200, page(alerts)]],
  ['GET', /^\/projects\/\w+\/alerts$/, () => [200, page(alerts)]],
  ['GET', /^\/runs\/\w+\/diff$/, () => [200, diff]],
  ['POST', /^\/runs\/(\w+)\/stop$/, ({ part }) => [200, stopped(part)]],
  ['', /^\/runs\/(\w+)$/, runAnswer],
  [
    'GET',
    /^\/jobs$/,
    ({ url, world }) =>
      some(
        world,
        jobs.filter((one) => !url.searchParams.get('open') || !one.ended_at),
      ),
  ],
  ['GET', /^\/jobs\/(\w+)\/why$/, ({ part }) => [200, whyAnswer(part)]],
  ['POST', /^\/jobs\/(\w+)\/release$/, ({ part }) => [200, released(part)]],
  ...shareRoutes,
  ...nodeRoutes,
  ['PUT', /^\/projects\/(\w+)\/jobs\/(\w+)$/, jobCreated],
  ['GET', /^\/jobs\/(\w+)\/events$/, ({ part }) => [200, page(eventsOf(jobOf(part)))]],
  ['POST', /^\/jobs\/(\w+)\/cancel$/, cancelAnswer],
  ['GET', /^\/jobs\/(\w+)$/, ({ part }) => [200, jobOf(part)]],
  ['GET', /^\/agents$/, ({ world }) => some(world, agents)],
  ['GET', /^\/targets$/, ({ world }) => some(world, targets)],
  [
    'POST',
    /^\/keys$/,
    ({ body }) => [201, { id: id('k', 9), kind: 'user', name: body.name, key: keyText }],
  ],
  ['GET', /^\/keys$/, ({ world }) => some(world, keys)],
]

function publicAnswer({ method, path, body, world }) {
  if (path === '/server') {
    const server = { version: '0.1.0', protocol: 1, protocol_min: 1, currency: 'EUR' }
    return [200, { ...server, setup_needed: world.setup }]
  }
  if (path === '/sessions' && method === 'POST') {
    if (body.password !== 'correct horse battery') {
      return [401, refusal('unauthenticated', 'login or password is wrong')]
    }
    world.signedIn = true
    return [201, world.me]
  }
  if (path === '/setup') {
    Object.assign(world, { signedIn: true, setup: false })
    return [201, world.me]
  }
  return null
}

/** The answers of the made-up server: [status, document]. */
function answer(method, url, body, world) {
  const path = url.pathname.replace('/api/v1', '')
  const open = publicAnswer({ method, path, body, world })
  if (open) return open
  if (!world.signedIn) return [401, refusal('unauthenticated', 'sign in first')]
  for (const [wanted, pattern, make] of routes) {
    const match = pattern.exec(path)
    if (match && (!wanted || wanted === method))
      return make({ part: match[1], method, url, body, world })
  }
  return [404, refusal('not_found', `no answer for ${path}`)]
}

function serveFile(path, response) {
  const known = /^\/(assets\/[\w.-]+|icon\.svg)$/.test(path)
  const file = known ? join(dist, normalize(path)) : join(dist, 'index.html')
  response.writeHead(200, {
    'Content-Type': types[extname(file)] ?? 'application/octet-stream',
    'Content-Security-Policy': csp,
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(readFileSync(file))
}

/** Starts on a port of the kernel's choice. `world` may be changed while it runs. */
export async function fixtureStart(options = {}) {
  const world = {
    signedIn: true,
    setup: false,
    empty: false,
    me: {
      kind: 'session',
      user: id('u', 1),
      login: 'ada',
      admin: true,
      agent: null,
      target: null,
      project: null,
      run: null,
      job: null,
    },
    ...options,
  }
  const streams = new Set()
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1')
    let text = ''
    for await (const piece of request) text += piece
    if (url.pathname === '/api/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('event: hello\ndata: {}\n\n')
      streams.add(response)
      response.on('close', () => streams.delete(response))
    } else if (/\/console$/.test(url.pathname)) {
      const all = Buffer.from(log)
      const from = Number(url.searchParams.get('offset') ?? 0)
      const part = all.subarray(from, from + Number(url.searchParams.get('limit') ?? all.length))
      response.writeHead(200, {
        'Content-Type': 'application/octet-stream',
        'Euvyra-Offset': from + part.length,
        'Euvyra-Size': all.length,
        'Euvyra-Final': '1',
      })
      response.end(part)
    } else if (url.pathname.startsWith('/api/')) {
      const [status, document] = answer(request.method, url, text ? JSON.parse(text) : {}, world)
      const binary = Buffer.isBuffer(document)
      const type = binary ? 'application/vnd.euvyra.columns' : 'application/json'
      response.writeHead(status, { 'Content-Type': type })
      response.end(binary ? document : document === null ? undefined : JSON.stringify(document))
    } else serveFile(url.pathname, response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const send = (kind, data) => {
    for (const stream of streams) stream.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    world,
    runs,
    jobs,
    send,
    streams: () => streams.size,
    close: () => {
      for (const s of streams) s.end()
      server.closeAllConnections()
      server.close()
    },
  }
}
