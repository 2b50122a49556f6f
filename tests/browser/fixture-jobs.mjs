// Made-up jobs in every state, and what led there.
const now = Date.now()
const ago = (ms) => new Date(now - ms).toISOString()
const minute = 60_000
const id = (letter, n) =>
  letter +
  n
    .toString(32)
    .padStart(12, 'a')
    .replace(/[0189]/g, (c) => 'wxyz'['0189'.indexOf(c)])
const job = (n, state, waiting) => ({
  id: id('j', n + 1),
  project: n % 2 ? 'vision' : 'demo',
  run: id('r', n + 1),
  name: `train-digits-${n + 1}`,
  state,
  waiting: waiting ?? null,
  queue: n === 1 ? 'night' : 'default',
  priority: n % 3,
  owner: n % 2 ? 'ada' : 'grace',
  created_at: ago((n + 1) * 9 * minute),
  started_at: ['queued', 'held', 'offered'].includes(state) ? null : ago((n + 1) * 8 * minute),
  ended_at: ['succeeded', 'failed', 'cancelled'].includes(state) ? ago(n * minute) : null,
  run_time_ms: ['queued', 'held', 'offered'].includes(state) ? 0 : (n + 1) * 63_000,
  cost_micro: ['queued', 'held'].includes(state) ? 0 : (n + 1) * 8_300,
  energy_mj: state === 'running' ? 7.2e9 : 0,
  idle_since: state === 'running' ? ago(40 * minute) : null,
  gpu_ms: ['queued', 'held', 'offered'].includes(state) ? 0 : (n + 1) * 5_400_000,
  exit_code: state === 'failed' ? 2 : state === 'succeeded' ? 0 : null,
  signal: null,
  oom: state === 'failed' && n % 2 === 1,
  ending: { failed: 'exit_code', succeeded: 'done', cancelled: 'cancelled' }[state] ?? '',
  reason: { failed: 'it exited with code 2', cancelled: 'cancelled by grace' }[state] ?? '',
  console_final: true,
  spec: {
    command: ['python', 'train.py'],
    code: 'cd'.repeat(32),
    config: { lr: 0.1, 'optimizer.name': 'adam' },
    gpus: n === 2 ? 0 : 8,
    nodes: n === 3 ? 2 : 1,
    memory_bytes: 68719476736,
    cpus: 2,
    timeout_s: 86400,
    env: { OMP_NUM_THREADS: '1' },
  },
  attempts: ['queued', 'held'].includes(state)
    ? []
    : [
        ...(n === 3
          ? [
              {
                id: id('t', 90),
                number: 1,
                state: 'lost',
                agent: 'rack2',
                target: 'default',
                offered_at: ago(9 * minute),
                started_at: ago(8 * minute),
                ended_at: ago(7 * minute),
                ending: 'node_lost',
                reason: 'nothing was heard of agent rack2 for 600 s',
                cost_micro: 4000,
              },
            ]
          : []),
        {
          id: id('t', n + 1),
          number: n === 3 ? 2 : 1,
          state: state === 'offered' ? 'offered' : state,
          agent: 'rack1',
          target: 'default',
          offered_at: ago((n + 1) * 8 * minute),
          started_at: ago((n + 1) * 8 * minute - 2000),
          ended_at: null,
          cost_micro: (n + 1) * 8_300,
          placements:
            n === 3
              ? [
                  { rank: 0, rank_count: 1, agent: 'rack1', state: 'running', ending: '' },
                  { rank: 1, rank_count: 1, agent: 'rack3', state: 'running', ending: '' },
                ]
              : [{ rank: 0, rank_count: 1, agent: 'rack1', state, ending: '' }],
        },
      ],
})
const soon = (ms) => new Date(now + ms).toISOString()
export const jobs = [
  job(0, 'queued', {
    ...{ code: 'busy', text: '', asked: 8, free: 1, resource: 'gpus', rank: 1 },
    start_estimate: soon(95 * minute),
  }),
  job(1, 'queued', {
    ...{ code: 'quota', text: '', asked: 8, free: 2, resource: 'gpus', rank: 2 },
    share: 'vision',
  }),
  job(2, 'held', { code: 'held', text: '' }),
  job(3, 'running'),
  job(4, 'stopping'),
  job(5, 'succeeded'),
  job(6, 'failed'),
  job(7, 'failed'),
  job(8, 'cancelled'),
]
export const jobOf = (part) => jobs.find((known) => known.id === part) ?? jobs[5]
const happened = [
  ['submitted', 'queued'],
  ['offered', 'offered'],
  ['accepted', 'claimed'],
  ['starting', 'starting'],
  ['running', 'running'],
]
/** What led to the state a job is in. */
export function eventsOf(one) {
  const waits = one.state === 'queued' || one.state === 'held'
  const steps = waits ? [['submitted', one.state]] : [...happened]
  if (one.state === 'stopping') steps.push(['cancel_asked', 'stopping'])
  if (one.ended_at) steps.push(['ended', one.state])
  return steps.map(([kind, state], i) => ({
    seq: i + 1,
    at: ago(8 * minute - i * 2400),
    kind,
    state,
    attempt: i ? id('t', 1) : null,
    actor: i ? 'agent:rack1' : 'user:ada',
    detail: i === 1 ? { agent: 'rack1', cpus: 2 } : {},
  }))
}
