// What is written in the launch form, and the job that it makes. Pure: the same form makes the same
// job, command line and file.
import type { JobCreate, JobSpec } from '../../api/client'
import { t } from '../../base/i18n'
import { readSize, readTime, splitWords } from './words'

export interface TargetChoice {
  target: string
  wait: string // before the next one may be used too
}

export interface Form {
  project: string
  name: string
  command: string
  code: string // digest of a packed folder, taken over from an earlier job
  from: string // the run of that job
  image: string
  config: string
  env: string
  secrets: string
  gpus: string
  gpuType: string
  cpus: string
  memory: string
  nodes: string
  targets: TargetChoice[]
  queue: string
  priority: string
  timeout: string
  retries: string
  retryFailed: boolean
  held: boolean
  kind: 'batch' | 'service'
  replicas: string
  health: string
  launcher: 'exec' | 'torchrun' | 'deepspeed'
  array: string
  after: string
  volumes: string
  buckets: string
  rest: Partial<JobSpec> // of an earlier job, what the form has no fields for
}

export const EMPTY: Form = {
  project: '',
  name: '',
  command: '',
  code: '',
  from: '',
  image: '',
  config: '',
  env: '',
  secrets: '',
  gpus: '',
  gpuType: '',
  cpus: '',
  memory: '',
  nodes: '',
  targets: [],
  queue: 'default',
  priority: '',
  timeout: '',
  retries: '',
  retryFailed: false,
  held: false,
  kind: 'batch',
  replicas: '',
  health: '',
  launcher: 'exec',
  array: '',
  after: '',
  volumes: '',
  buckets: '',
  rest: {},
}

export type Faults = Partial<Record<keyof Form, string>>
export type Body = Omit<JobCreate, 'run'>

export interface Built {
  body: Body | null // null: the form has faults that leave no job
  faults: Faults
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const CONFIG_KEY = /^[^\s=]+$/

interface Line {
  name: string
  value: string
}

/** NAME=value, one a line; empty lines are nothing. Throws what is wrong, in words. */
export function readLines(text: string, pattern: RegExp): Line[] {
  const lines: Line[] = []
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (line === '') continue
    const at = line.indexOf('=')
    if (at < 1) throw new Error(t('launch.bad_line', { n: i + 1 }))
    const name = line.slice(0, at).trim()
    if (!pattern.test(name)) throw new Error(t('launch.bad_name', { n: i + 1, name }))
    lines.push({ name, value: line.slice(at + 1).trim() })
  }
  return lines
}

/** JSON where it is JSON, else text: as the command line reads it. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const LIMITS = {
  gpus: [0, 1024],
  cpus: [0, 4096],
  nodes: [1, 1024],
  priority: [-1000, 1000],
  retries: [0, 100],
  replicas: [1, 1000],
} as const

function readNumber(field: keyof typeof LIMITS, text: string): number | undefined {
  if (text.trim() === '') return undefined
  const [min, max] = LIMITS[field]
  const n = Number(text)
  if (!Number.isInteger(n) || n < min || n > max)
    throw new Error(t('launch.bad_number', { min: String(min), max: String(max) }))
  return n
}

const mapOf = (lines: Line[]): Record<string, string> =>
  Object.fromEntries(lines.map(({ name, value }) => [name, value]))

/** Without what is not set: the API takes what is absent as its default. */
function set<T extends object>(object: T): T {
  const entries = Object.entries(object).filter(([, value]) => {
    if (value === undefined || value === '' || value === false) return false
    return typeof value !== 'object' || value === null || Object.keys(value).length > 0
  })
  return Object.fromEntries(entries) as T
}

/** Reads one field; what is wrong with it goes to its fault. */
function reader(faults: Faults): <T>(field: keyof Form, read: () => T) => T | undefined {
  return (field, read) => {
    try {
      return read()
    } catch (error) {
      faults[field] = error instanceof Error ? error.message : String(error)
      return undefined
    }
  }
}

function targetsOf(form: Form): Partial<JobSpec> {
  const chosen = form.targets.filter((one) => one.target !== '')
  if (chosen.length === 0) return {}
  if (chosen.length === 1 && chosen[0]) return { target: chosen[0].target }
  const targets = chosen.map((one, i) => {
    const wait_s = i < chosen.length - 1 ? readTime(one.wait) : undefined
    return { target: one.target, ...(wait_s === undefined ? {} : { wait_s }) }
  })
  return { targets }
}

const linesIn = (text: string): [number, string][] =>
  text
    .split('\n')
    .map((line, i): [number, string] => [i + 1, line.trim()])
    .filter(([, line]) => line !== '')

const ARRAY = /^(\d{1,10})-(\d{1,10})(?::(\d{1,10}))?(?:%(\d{1,4}))?$/

/** "0-99:5%10": first, last, step, how many at once. */
export function readArray(text: string): JobCreate['array'] {
  if (text.trim() === '') return undefined
  const match = ARRAY.exec(text.trim())
  if (!match) throw new Error(t('launch.bad_array'))
  const [, from, to, step, limit] = match
  return {
    from: Number(from),
    to: Number(to),
    ...(step ? { step: Number(step) } : {}),
    ...(limit ? { limit: Number(limit) } : {}),
  }
}

/** Ids of jobs and arrays, one a line, with ":any" where any end will do. */
export function readAfter(text: string): JobCreate['after'] {
  return linesIn(text).map(([n, line]) => {
    const match = /^(j[a-z2-7]{12})(:any)?$/.exec(line)
    if (!match?.[1]) throw new Error(t('launch.bad_after', { n, name: line }))
    return match[2] ? { job: match[1], any: true } : { job: match[1] }
  })
}

function readVolumes(text: string): JobSpec['volumes'] {
  return linesIn(text).map(([n, line]) => {
    const match = /^([^:\s]+):([^:]+?)(:ro)?$/.exec(line)
    if (!match?.[1] || !match[2]) throw new Error(t('launch.bad_volume', { n }))
    const mount = { name: match[1], path: match[2] }
    return match[3] ? { ...mount, read_only: true } : mount
  })
}

/** "8000/up", over what an earlier job said besides. */
function readHealth(text: string, before: JobSpec['health']): JobSpec['health'] {
  if (text.trim() === '') return undefined
  const match = /^(\d{1,5})(\/\S*)?$/.exec(text.trim())
  if (!match) throw new Error(t('launch.bad_health'))
  const { path: _, ...kept } = before ?? { port: 0 }
  return { ...kept, port: Number(match[1]), ...(match[2] ? { path: match[2] } : {}) }
}

type Take = ReturnType<typeof reader>

/** What only a service has. */
function serviceOf(form: Form, take: Take): Partial<JobSpec> {
  if (form.kind !== 'service') return {}
  return set({
    kind: 'service',
    replicas: take('replicas', () => readNumber('replicas', form.replicas)),
    health: take('health', () => readHealth(form.health, form.rest.health)),
  }) as Partial<JobSpec>
}

export function build(form: Form): Built {
  const faults: Faults = {}
  const take = reader(faults)
  const command = take('command', () => splitWords(form.command)) ?? []
  if (!form.project) faults.project = t('launch.need_project')
  if (command.length === 0 && !faults.command) faults.command = t('launch.need_command')
  const config = take('config', () =>
    Object.fromEntries(
      readLines(form.config, CONFIG_KEY).map(({ name, value }) => [name, readValue(value)]),
    ),
  )
  const { health: _, ...rest } = form.rest
  const spec: JobSpec = set({
    ...rest,
    command,
    image: form.image.trim() || undefined,
    code: form.code || undefined,
    config,
    env: take('env', () => mapOf(readLines(form.env, NAME))),
    secrets: take('secrets', () => mapOf(readLines(form.secrets, NAME))),
    gpus: take('gpus', () => readNumber('gpus', form.gpus)),
    gpu_type: form.gpuType.trim() || rest.gpu_type,
    cpus: take('cpus', () => readNumber('cpus', form.cpus)),
    memory_bytes: take('memory', () => readSize(form.memory)),
    nodes: take('nodes', () => readNumber('nodes', form.nodes)),
    launcher: form.launcher === 'exec' ? undefined : form.launcher,
    ...take('targets', () => targetsOf(form)),
    timeout_s: take('timeout', () => readTime(form.timeout)),
    retries: take('retries', () => readNumber('retries', form.retries)),
    retry_failed: form.retryFailed || undefined,
    volumes: take('volumes', () => readVolumes(form.volumes)),
    buckets: form.buckets.split(/[\s,]+/).filter((name) => name !== ''),
    ...serviceOf(form, take),
  }) as JobSpec
  const body = set({
    name: form.name.trim() || undefined,
    queue: form.queue === 'default' ? undefined : form.queue,
    priority: take('priority', () => readNumber('priority', form.priority)),
    held: form.held || undefined,
    array: take('array', () => readArray(form.array)),
    after: take('after', () => readAfter(form.after)),
    spec,
  }) as Body
  return { body: command.length > 0 ? body : null, faults }
}

/** The field of the form that an answer of the server names. */
export function fieldOf(apiField: string): keyof Form | null {
  const name = apiField.replace(/^spec\./, '').replace(/[.[].*$/, '')
  const other: Record<string, keyof Form> = {
    memory_bytes: 'memory',
    timeout_s: 'timeout',
    gpu_type: 'gpuType',
    retry_failed: 'retryFailed',
    target: 'targets',
  }
  const field = other[name] ?? name
  return field in EMPTY ? (field as keyof Form) : null
}
