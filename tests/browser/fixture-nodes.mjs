// Made-up machines with GPUs that are well, ill, used by others, cut and shared; a day of readings.
import { jobs } from './fixture-jobs.mjs'

const now = Date.now()
const minute = 60_000
const GIB = 2 ** 30
const ago = (ms) => new Date(now - ms).toISOString()
const id = (n) => `a${String.fromCharCode(97 + n).repeat(12)}`

const gpu = (place, more = {}) => ({
  ...{ place, uuid: `GPU-${place}`, name: 'NVIDIA H100 80GB HBM3', type: 'H100' },
  ...{ bus_id: `00000000:0${place}:00.0`, memory_kind: 'dedicated', memory_bytes: 80 * GIB },
  ...{ mig: false, ill: '', ill_since: null, used_by: '' },
  now: { percent: 96 - place * 9, memory_bytes: (72 - place * 7) * GIB, celsius: 61, watts: 640 },
  ...more,
})
const silent = { percent: null, memory_bytes: null, celsius: null, watts: null }
const machine = (name, n, more = {}) => ({
  ...{ id: id(n), name, target: 'default', state: 'online', version: 'euvyra-agent/0.1.0' },
  ...{ executor: 'docker', last_seen_at: ago(3000), cpus: 96, memory_bytes: 768 * GIB },
  ...{ gpus_offered: 8, gpus_used: 0, excluded: false, maintenance: null, jobs: [] },
  machine: {
    ...{ host: name, os: 'Debian GNU/Linux 12 (bookworm)', kernel: 'Linux 6.1.0', arch: 'x86_64' },
    ...{ cpu_model: 'AMD EPYC 9654 96-Core Processor', cpu_threads: 192, driver: '570.133.20' },
    ...{ cuda: '12.8', memory_bytes: 768 * GIB, disk_bytes: 7000 * GIB, host_reserve_bytes: 0 },
  },
  now: {
    ...{ at: ago(4000), cpu_percent: 41.5, memory_bytes: 212 * GIB },
    ...{ disk_bytes: 1800 * GIB, load: 37.2 },
  },
  gpus: Array.from({ length: 8 }, (_, place) => gpu(place)),
  ...more,
})
const works = {
  ...{ job: jobs[3].id, name: jobs[3].name, project: 'vision', state: 'running', cpus: 8 },
  ...{ started_at: ago(50 * minute), gpu_count: 2, gpus: [0, 1], energy_mj: 4.2e9 },
  idle_since: null,
}
const nodes = [
  machine('rack1', 0, {
    gpus_used: 3,
    jobs: [
      works,
      {
        ...{ job: null, state: 'running', started_at: ago(90 * minute), cpus: 4, gpu_count: 1 },
        ...{ gpus: [2], energy_mj: 9e8, idle_since: ago(40 * minute) },
      },
    ],
  }),
  machine('rack2-with-a-rather-long-name', 1, {
    maintenance: { reason: 'new fans for the lower row', until: ago(-200 * minute) },
  }),
  machine('rack3', 2, {
    gpus: [
      ...[0, 1].map((place) => gpu(place)),
      gpu(2, { ill: 'it has fallen off the bus, or needs a reset', now: silent }),
      gpu(3, { used_by: 'process 4711 (python3), process 4712 (ollama)' }),
      gpu(4, { mig: true, now: { ...silent, celsius: 40 } }),
    ],
    gpus_offered: 2,
  }),
  machine('spark', 3, {
    ...{ gpus_offered: 1, excluded: true },
    gpus: [gpu(0, { memory_kind: 'unified', name: 'NVIDIA GB10', type: 'GB10' })],
  }),
  machine('cpu-only', 4, { gpus: [], gpus_offered: 0, state: 'unreachable', now: null }),
]

const BUCKETS = 240
/** A wave with a gap in it. */
function series(middle, swing, seed) {
  const at = (i) => (i > 90 && i < 110 ? null : middle + swing * Math.sin(i / (7 + seed)))
  const all = (by) =>
    Array.from({ length: BUCKETS }, (_, i) => (at(i) === null ? null : Math.max(0, at(i) + by)))
  return { min: all(-swing / 2), max: all(swing / 2), mean: all(0) }
}

function samples({ part, url }) {
  const node = nodes.find((one) => one.id === part) ?? nodes[0]
  const from = url.searchParams.get('from')
  const span = now - Date.parse(from)
  const bar = (gpus, begin, end, more) => ({
    ...{ gpus, from: ago(span * begin), to: ago(span * end), running: end === 0, energy_mj: 1e9 },
    ...more,
  })
  return [
    200,
    {
      ...{ from, to: ago(0), width_ms: Math.round(span / BUCKETS), buckets: BUCKETS },
      node: {
        cpu_percent: series(40, 12, 1),
        memory_bytes: series(200 * GIB, 20 * GIB, 2),
        disk_bytes: series(1800 * GIB, 0, 3),
        load: series(30, 9, 4),
      },
      gpus: node.gpus.map((one) => ({
        ...{ place: one.place, uuid: one.uuid },
        percent: series(70, 25, one.place),
        memory_bytes: series(50 * GIB, 18 * GIB, one.place),
        celsius: series(60, 8, one.place),
        watts: series(500, 150, one.place),
      })),
      jobs: [
        bar([0, 1], 0.9, 0.5, { job: jobs[5].id, name: jobs[5].name, project: 'vision' }),
        bar([0, 1], 0.4, 0, { job: jobs[3].id, name: jobs[3].name, project: 'vision' }),
        bar([2], 0.6, 0, { job: null }),
      ],
    },
  ]
}

const sums = {
  ...{ nodes: 5, gpus: 22, gpus_used: 3, gpus_idle: 17, gpus_ill: 1, gpus_of_others: 1 },
  ...{ utilization_percent: 63.4, utilization_since: ago(7 * 1440 * minute) },
}
const nothing = {
  ...{ nodes: 0, gpus: 0, gpus_used: 0, gpus_idle: 0, gpus_ill: 0, gpus_of_others: 0 },
  ...{ utilization_percent: null, utilization_since: ago(0) },
}

// As the routes of fixture.mjs: [method, path with one group, answer].
export const nodeRoutes = [
  [
    'GET',
    /^\/targets\/([\w-]+)\/nodes$/,
    ({ part }) => [200, part === 'default' ? { items: nodes, sums } : { items: [], sums: nothing }],
  ],
  ['GET', /^\/agents\/(\w+)\/samples$/, samples],
]
