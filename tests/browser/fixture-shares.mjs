// Made-up queues, shares, budgets and targets, and the answers about them.
const now = Date.now()
const minute = 60_000
const ago = (ms) => new Date(now - ms).toISOString()
const soon = (ms) => new Date(now + ms).toISOString()
const page = (items) => ({ items, next_cursor: null })
const some = (world, items) => [200, page(world.empty ? [] : items)]
const refusal = (code, message) => ({ code, message, request_id: 'abc' })

const GIB = 1073741824
const amounts = (gpus, cpus = null, memory = null) => ({ gpus, cpus, memory_bytes: memory })
const share = (kind, name, parent, quota, use, more = {}) => ({
  ...{ kind, name, parent, weight: 1, quota, borrow: amounts(8), lend: amounts(null) },
  ...{ parallel_jobs: null, held: false, targets: [], use, running: 2 },
  ...more,
})
const shares = [
  share('organisation', '', null, amounts(null), amounts(26, 180, 900 * GIB), { running: 5 }),
  share('team', 'research', null, amounts(16, 64), amounts(22, 100, 512 * GIB), { running: 4 }),
  share('project', 'vision', 'research', amounts(8, 32, 256 * GIB), amounts(12, 48, 300 * GIB), {
    ...{ weight: 2, parallel_jobs: 20 },
  }),
  share('project', 'speech', 'research', amounts(8), amounts(2, 8, 16 * GIB), { held: true }),
  share('project', 'demo', null, amounts(null), amounts(4, 16, 32 * GIB)),
]
const queue = (name, priority, more = {}) => ({
  ...{ name, priority, aging_s: 3600, timeout_s: null, strategy: 'pack', targets: [] },
  ...{ held: false, draining: false, open_jobs: 2 },
  ...more,
})
const queues = [
  queue('default', 0),
  queue('night', -10, { timeout_s: 28800, targets: ['default'] }),
  queue('urgent', 50, { draining: true, open_jobs: 0 }),
]
const HOUR_MS = 3_600_000
const period = (start, end, hours, cost, lost = 0) => ({
  ...{ start, end, zone: 'Europe/Berlin', gpu_ms: hours * HOUR_MS, cost_micro: cost * 1e6 },
  gpu_ms_lost: lost * HOUR_MS,
})
const periods = [
  period('2026-10-31T23:00:00Z', '2026-11-30T23:00:00Z', 1240, 2480, 31),
  period('2026-09-30T22:00:00Z', '2026-10-31T23:00:00Z', 1811, 3622, 12),
  period('2026-08-31T22:00:00Z', '2026-09-30T22:00:00Z', 940, 1880),
]
const budget = {
  gpu_hours: 2000,
  cost_micro: 4e9,
  zone: 'Europe/Berlin',
  period: periods[0],
  next_period: period('2026-11-30T23:00:00Z', '2026-12-31T23:00:00Z', 0, 0),
  committed: { gpu_ms: 160 * HOUR_MS, cost_micro: 320e6 },
  left: { gpu_ms: 600 * HOUR_MS, cost_micro: 1200e6 },
  forecast: { gpu_ms: 2150 * HOUR_MS, cost_micro: 3900e6 },
}
const secrets = ['HF_TOKEN', 'S3_KEY'].map((name) => ({
  ...{ name, made_at: ago(9000 * minute), made_by: 'user:ada', used_at: ago(60 * minute) },
}))

const target = (name, more) => ({
  ...{ name, price_hour_micro: 480_000, price_gpu_hour_micro: 1_200_000, spot: false },
  ...{ labels: {}, excluded: [], tolerations: [], settings: {}, volumes: [], buckets: [] },
  ...{ maintenance: null, agent_count: 0, cpus_total: 0, cpus_free: 0 },
  ...{ gpus_total: 0, gpus_free: 0 },
  ...more,
})
export const targets = [
  target('default', {
    ...{ agent_count: 3, cpus_total: 288, cpus_free: 236, gpus_total: 24, gpus_free: 17 },
  }),
  target('spot', {
    ...{ spot: true, price_gpu_hour_micro: 400_000 },
    maintenance: { reason: 'new cables', until: soon(200 * minute) },
  }),
]
const queueTurn = (name, how) =>
  Object.assign(
    queues.find((one) => one.name === name),
    how,
  )
const shareSet = (name, body) => {
  const one = shares.find((known) => known.name === name)
  const all = (set) => ({ ...amounts(null), ...set })
  return Object.assign(one, body, {
    ...{ quota: all(body.quota), borrow: all(body.borrow), lend: all(body.lend) },
  })
}
function budgetSet({ body, world }) {
  if (world.refusesZone) {
    return [400, { ...refusal('invalid', 'zone: "Mars/Base" is not known'), field: 'zone' }]
  }
  return [200, Object.assign(budget, { gpu_hours: null, cost_micro: null }, body)]
}

// As the routes of fixture.mjs: [method, path with one group, answer].
export const shareRoutes = [
  ['GET', /^\/queues$/, ({ world }) => [200, page(world.empty ? queues.slice(0, 1) : queues)]],
  ['POST', /^\/queues\/(\w+)\/hold$/, ({ part }) => [200, queueTurn(part, { held: true })]],
  ['POST', /^\/queues\/(\w+)\/drain$/, ({ part }) => [200, queueTurn(part, { draining: true })]],
  [
    'POST',
    /^\/queues\/(\w+)\/resume$/,
    ({ part }) => [200, queueTurn(part, { held: false, draining: false })],
  ],
  ['GET', /^\/shares$/, ({ world }) => some(world, shares)],
  ['PUT', /^\/projects\/(\w+)\/share$/, ({ part, body }) => [200, shareSet(part, body)]],
  ['GET', /^\/projects\/\w+\/budget$/, () => [200, budget]],
  ['PUT', /^\/projects\/\w+\/budget$/, budgetSet],
  ['GET', /^\/projects\/\w+\/budget\/periods$/, ({ world }) => some(world, periods)],
  ['GET', /^\/projects\/\w+\/secrets$/, () => [200, page(secrets)]],
]
