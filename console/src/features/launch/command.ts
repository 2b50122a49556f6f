// The same job as a command line and as a file for the command line.
import type { Body, Form } from './form'
import { quoteWord, writeArray, writeSize, writeTime, writeYaml } from './words'

interface Option {
  flag: string
  value: string | number | undefined // undefined: left out; '' a flag alone
}

const flag = (name: string, on: boolean | undefined): Option => ({
  flag: name,
  value: on ? '' : undefined,
})

const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

const pairs = (name: string, map: Record<string, unknown> | undefined): Option[] =>
  Object.entries(map ?? {}).map(([key, value]) => ({
    flag: name,
    value: `${key}=${valueText(value)}`,
  }))

function targets({ spec }: Body): Option[] {
  if (spec.target) return [{ flag: 'target', value: spec.target }]
  return (spec.targets ?? []).map((one) => ({
    flag: 'target',
    value: one.wait_s === undefined ? one.target : `${one.target}:${writeTime(one.wait_s)}`,
  }))
}

const volumes = ({ spec }: Body): Option[] =>
  (spec.volumes ?? []).map(({ name, path, read_only: readOnly }) => ({
    flag: 'volume',
    value: `${name}:${path}${readOnly ? ':ro' : ''}`,
  }))

const many = (name: string, values: string[] | undefined): Option[] =>
  (values ?? []).map((value) => ({ flag: name, value }))

const size = (name: string, bytes: number | undefined): Option => ({
  flag: name,
  value: bytes === undefined ? undefined : writeSize(bytes),
})

const time = (name: string, seconds: number | undefined): Option => ({
  flag: name,
  value: seconds === undefined ? undefined : writeTime(seconds),
})

/** A job for each index, and what comes before. */
function series({ array, after }: Body): Option[] {
  return [
    { flag: 'array', value: array && writeArray(array) },
    ...many(
      'after',
      after?.map((one) => `${one.job}${one.any ? ':any' : ''}`),
    ),
  ]
}

function service({ spec }: Body): Option[] {
  return [
    flag('service', spec.kind === 'service'),
    { flag: 'replicas', value: spec.replicas },
    { flag: 'health', value: spec.health && `${spec.health.port}${spec.health.path ?? ''}` },
    time('health-every', spec.health?.every_s),
    time('health-timeout', spec.health?.timeout_s),
    { flag: 'health-failures', value: spec.health?.failures },
    time('health-start', spec.health?.starts_within_s),
  ]
}

/** Limits of its container. */
function container({ spec }: Body): Option[] {
  return [
    { flag: 'registry', value: spec.registry },
    size('shm', spec.shm_bytes),
    size('disk', spec.disk_bytes),
    { flag: 'pids', value: spec.pids },
    flag('read-only-root', spec.read_only_root),
  ]
}

const types = ({ spec }: Body): Option[] =>
  [spec.gpu_type ?? []].flat().map((value) => ({ flag: 'gpu-type', value }))

/** Every option that the command line needs for this job, in a fixed order. */
export function optionsOf(form: Form, body: Body): Option[] {
  const { spec } = body
  return [
    { flag: 'project', value: form.project || undefined },
    { flag: 'from', value: form.code ? form.from : undefined }, // brings its folder
    { flag: 'name', value: body.name },
    { flag: 'image', value: spec.image },
    { flag: 'gpus', value: spec.gpus },
    ...types(body),
    { flag: 'cpus', value: spec.cpus },
    size('gpu-memory', spec.gpu_memory_bytes),
    size('memory', spec.memory_bytes),
    { flag: 'nodes', value: spec.nodes },
    { flag: 'launcher', value: spec.launcher },
    ...container(body),
    ...volumes(body),
    ...many('bucket', spec.buckets),
    ...targets(body),
    ...many('exclude', spec.exclude),
    { flag: 'queue', value: body.queue },
    { flag: 'priority', value: body.priority },
    {
      flag: 'timeout',
      value: spec.timeout_s === undefined ? undefined : writeTime(spec.timeout_s),
    },
    { flag: 'grace', value: spec.grace_s === undefined ? undefined : writeTime(spec.grace_s) },
    { flag: 'retries', value: spec.retries },
    flag('retry-failed', spec.retry_failed),
    ...service(body),
    ...series(body),
    ...pairs('config', spec.config),
    ...pairs('env', spec.env),
    ...pairs('secret', spec.secrets),
    flag('held', body.held),
    flag('no-code', !form.code),
  ]
}

/** One line an option, as a shell takes it. */
export function commandText(form: Form, body: Body): string {
  const options = optionsOf(form, body)
    .filter(({ value }) => value !== undefined)
    .map(({ flag: name, value }) =>
      value === '' ? `--${name}` : `--${name} ${quoteWord(String(value))}`,
    )
  const command = body.spec.command.map(quoteWord).join(' ')
  return ['euvyra launch', ...options.map((one) => `    ${one}`), `    -- ${command}`].join(' \\\n')
}

/** The body of the API as YAML, under the line that launches it. */
export function fileText(form: Form, body: Body): string {
  const project = form.project ? ` --project ${form.project}` : ''
  const code = form.code ? '' : ' --no-code'
  return `# euvyra launch -f job.yaml${project}${code}\n${writeYaml({ ...body })}`
}
