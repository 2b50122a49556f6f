import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError, ask, client, type Job, type Project, type Target } from '../../api/client'
import {
  useAgents,
  useBudget,
  useJob,
  useProjects,
  useQueues,
  useRun,
  useSecrets,
  useServer,
  useShares,
  useTargets,
} from '../../api/queries'
import { formatDuration } from '../../base/format'
import { t } from '../../base/i18n'
import { newId } from '../../base/ids'
import { failureOf } from '../../widgets/action'
import { Button, IconButton } from '../../widgets/button'
import { Card } from '../../widgets/facts'
import { Choice, Field, TextField } from '../../widgets/field'
import { useShortcuts, useTitle, useViewParam } from '../../widgets/hooks'
import { sharesAbove } from '../../widgets/shares'
import { Fits, Same, When } from './beside'
import { build, EMPTY, type Faults, type Form, fieldOf } from './form'
import { at, type PartProps } from './part'
import { Data, Kind, Series } from './series'
import { quoteWord, writeSize, writeTime } from './words'

const linesOf = (map: Record<string, unknown> | undefined): string =>
  Object.entries(map ?? {})
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')

const numberText = (n: number | undefined): string => (n === undefined ? '' : String(n))

const IN_FORM = [
  ...['command', 'code', 'image', 'config', 'env', 'secrets', 'gpus', 'cpus', 'memory_bytes'],
  ...['nodes', 'launcher', 'target', 'targets', 'timeout_s', 'retries', 'retry_failed', 'kind'],
  ...['replicas', 'volumes', 'buckets', 'git'],
]

/** Members of a spec that the form has no field for, or not a whole one. */
function restOf(spec: Job['spec']): Form['rest'] {
  const several = Array.isArray(spec.gpu_type) && spec.gpu_type.length > 1
  return Object.fromEntries(
    Object.entries(spec).filter(([key]) => (key === 'gpu_type' ? several : !IN_FORM.includes(key))),
  )
}

/** The form that makes the same job again. */
export function formOf(job: Job): Form {
  const { spec } = job
  const steps = spec.target ? [{ target: spec.target }] : (spec.targets ?? [])
  return {
    ...EMPTY,
    project: job.project,
    name: job.name,
    command: spec.command.map(quoteWord).join(' '),
    code: spec.code ?? '',
    from: job.run,
    image: spec.image ?? '',
    config: linesOf(spec.config),
    env: linesOf(spec.env),
    secrets: linesOf(spec.secrets),
    gpus: numberText(spec.gpus),
    gpuType:
      [spec.gpu_type ?? []].flat().length === 1 ? ([spec.gpu_type ?? ''].flat()[0] ?? '') : '',
    cpus: numberText(spec.cpus),
    memory: spec.memory_bytes ? writeSize(spec.memory_bytes) : '',
    nodes: numberText(spec.nodes),
    targets: steps.map((step) => ({
      target: step.target,
      wait: 'wait_s' in step && step.wait_s ? writeTime(step.wait_s) : '',
    })),
    queue: job.queue ?? 'default',
    priority: job.priority === 0 ? '' : String(job.priority),
    timeout: spec.timeout_s ? writeTime(spec.timeout_s) : '',
    retries: numberText(spec.retries),
    retryFailed: spec.retry_failed ?? false,
    kind: spec.kind ?? 'batch',
    replicas: numberText(spec.replicas),
    health: spec.health ? `${spec.health.port}${spec.health.path ?? ''}` : '',
    launcher: spec.launcher ?? 'exec',
    volumes: (spec.volumes ?? [])
      .map((one) => `${one.name}:${one.path}${one.read_only ? ':ro' : ''}`)
      .join('\n'),
    buckets: (spec.buckets ?? []).join(', '),
    rest: restOf(spec),
  }
}

function What(props: PartProps & { projects: Project[] }): ReactElement {
  const { form, faults, change, projects } = props
  const secrets = useSecrets(form.project).data ?? []
  const names = secrets.map((secret) => secret.name).join(', ')
  const kept = Object.keys(form.rest)
    .filter((key) => key !== 'health')
    .join(', ')
  return (
    <Card title={t('launch.what')}>
      <div className="form launch-form">
        <Choice
          label={t('launch.project')}
          value={form.project}
          error={faults.project}
          onChange={(project) => change({ project })}
          choices={[
            { value: '', label: t('launch.choose_project') },
            ...projects.map((one) => ({ value: one.name, label: one.title || one.name })),
          ]}
        />
        <TextField
          label={t('launch.command')}
          hint={`${t('launch.command_hint')} ${t('launch.code')}`}
          rows={2}
          {...at(props, 'command')}
        />
        <Field
          label={t('launch.image')}
          spellCheck={false}
          maxLength={512}
          {...at(props, 'image')}
        />
        <Field
          label={t('launch.name')}
          hint={t('launch.name_hint')}
          maxLength={200}
          {...at(props, 'name')}
        />
        <TextField
          label={t('launch.config')}
          hint={t('launch.config_hint')}
          rows={3}
          {...at(props, 'config')}
        />
        <TextField
          label={t('launch.env')}
          hint={t('launch.env_hint')}
          rows={2}
          {...at(props, 'env')}
        />
        <TextField
          label={t('launch.secrets')}
          hint={[t('launch.secrets_hint'), names && t('launch.secrets_known', { names })]
            .filter(Boolean)
            .join(' ')}
          rows={2}
          {...at(props, 'secrets')}
        />
        <Kind {...props} />
        {kept && <p className="empty-hint">{t('launch.kept', { names: kept })}</p>}
      </div>
    </Card>
  )
}

function Needs(props: PartProps & { types: string[] }): ReactElement {
  const number = { type: 'number', inputMode: 'numeric' } as const
  return (
    <Card title={t('launch.needs')}>
      <div className="launch-grid">
        <Field label={t('launch.gpus')} {...number} min={0} max={1024} {...at(props, 'gpus')} />
        <Choice
          label={t('launch.gpu_type')}
          value={props.form.gpuType}
          onChange={(gpuType) => props.change({ gpuType })}
          choices={[
            { value: '', label: t('launch.gpu_type_any') },
            ...props.types.map((type) => ({ value: type, label: type })),
          ]}
        />
        <Field label={t('launch.cpus')} {...number} min={0} max={4096} {...at(props, 'cpus')} />
        <Field label={t('launch.memory')} hint={t('launch.memory_hint')} {...at(props, 'memory')} />
        <Field label={t('launch.nodes')} {...number} min={1} max={1024} {...at(props, 'nodes')} />
        {(Number(props.form.nodes) > 1 || props.form.launcher !== 'exec') && (
          <Choice
            label={t('launch.launcher')}
            value={props.form.launcher}
            error={props.faults.launcher}
            onChange={(launcher) => props.change({ launcher })}
            choices={[
              { value: 'exec', label: t('launch.launcher_exec') },
              { value: 'torchrun', label: 'torchrun' },
              { value: 'deepspeed', label: 'deepspeed' },
            ]}
          />
        )}
      </div>
    </Card>
  )
}

function Steps({ form, faults, change, targets }: PartProps & { targets: string[] }): ReactElement {
  const steps = form.targets.length > 0 ? form.targets : [{ target: '', wait: '' }]
  const set = (i: number, part: Partial<Form['targets'][number]>): void =>
    change({ targets: steps.map((step, n) => (n === i ? { ...step, ...part } : step)) })
  const chosen = new Set(steps.map((step) => step.target))
  const last = steps[steps.length - 1]
  return (
    <fieldset className="launch-steps">
      <legend className="visually-hidden">{t('launch.target')}</legend>
      {steps.map((step, i) => (
        <div key={`${step.target} of ${steps.length}`} className="launch-step">
          <Choice
            label={t('launch.target')}
            value={step.target}
            onChange={(target) => set(i, { target })}
            choices={[
              ...(i === 0 ? [{ value: '', label: t('launch.target_any') }] : []),
              ...targets
                .filter((name) => name === step.target || !chosen.has(name))
                .map((name) => ({ value: name, label: name })),
            ]}
          />
          {i < steps.length - 1 && (
            <Field
              label={t('launch.target_wait')}
              placeholder="10m"
              value={step.wait}
              onChange={(event) => set(i, { wait: event.target.value })}
            />
          )}
          {steps.length > 1 && (
            <IconButton
              icon="close"
              label={t('launch.remove_target', { name: step.target })}
              onClick={() => change({ targets: steps.filter((_, n) => n !== i) })}
            />
          )}
        </div>
      ))}
      {last?.target && targets.some((name) => !chosen.has(name)) && steps.length < 8 && (
        <Button
          icon="plus"
          onClick={() => {
            const next = targets.find((name) => !chosen.has(name)) ?? ''
            change({ targets: [...steps, { target: next, wait: '' }] })
          }}
        >
          {t('launch.add_target')}
        </Button>
      )}
      {faults.targets && (
        <span className="form-error" role="alert">
          {faults.targets}
        </span>
      )}
    </fieldset>
  )
}

interface WhereProps extends PartProps {
  targets: string[]
  queues: string[]
  limit: number // of the chosen queue, in seconds
}

function Where(props: WhereProps): ReactElement {
  const { form, change } = props
  const number = { type: 'number', inputMode: 'numeric' } as const
  return (
    <Card title={t('launch.where')}>
      <Steps {...props} />
      <div className="launch-grid">
        <Choice
          label={t('launch.queue')}
          value={form.queue}
          error={props.faults.queue}
          onChange={(queue) => change({ queue })}
          choices={props.queues.map((name) => ({ value: name, label: name }))}
        />
        <Field
          label={t('launch.priority')}
          {...number}
          min={-1000}
          max={1000}
          placeholder="0"
          {...at(props, 'priority')}
        />
        <Field
          label={t('launch.timeout')}
          hint={
            form.kind === 'service'
              ? t('launch.timeout_service')
              : t('launch.timeout_hint', { time: formatDuration(props.limit * 1000) })
          }
          {...at(props, 'timeout')}
        />
        <Field
          label={t('launch.retries')}
          {...number}
          min={0}
          max={100}
          placeholder="3"
          {...at(props, 'retries')}
        />
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={form.retryFailed}
          onChange={(event) => change({ retryFailed: event.target.checked })}
        />
        <span>{t('launch.retry_failed')}</span>
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={form.held}
          onChange={(event) => change({ held: event.target.checked })}
        />
        <span>{t('launch.held')}</span>
      </label>
    </Card>
  )
}

const WEEK_S = 604_800

/** What an earlier run's job said, once it is known. */
function useEarlier(run: string): Job | undefined {
  const found = useRun(run)
  return useJob(found.data?.job ?? '').data
}

function useForm(): [Form, (part: Partial<Form>) => void] {
  const [project] = useViewParam('project', '')
  const [from] = useViewParam('from', '')
  const [form, setForm] = useState<Form>({ ...EMPTY, project })
  const earlier = useEarlier(from)
  const id = earlier?.id
  // Once, when it is there: what was changed since stays as it is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refreshed job is the same job
  useEffect(() => {
    if (earlier) setForm(formOf(earlier))
  }, [id])
  return [form, (part) => setForm((before) => ({ ...before, ...part }))]
}

/** The targets that the form names, else all. */
function placesOf(form: Form, targets: Target[]): Target[] {
  const names = form.targets.map((one) => one.target).filter((name) => name !== '')
  return names.length > 0 ? targets.filter((one) => names.includes(one.name)) : targets
}

export function LaunchPage(): ReactElement {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [form, setPart] = useForm()
  const [ids] = useState(() => ({ job: newId('j'), run: newId('r') }))
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [answer, setAnswer] = useState<{ field: keyof Form | null; text: string } | null>(null)
  const projects = (useProjects().data ?? []).filter((one) => one.role !== 'viewer')
  const targets = useTargets().data ?? []
  const agents = useAgents().data ?? []
  const queues = useQueues().data ?? []
  const shares = sharesAbove(useShares().data ?? [], form.project)
  const budget = useBudget(form.project).data
  const currency = useServer().data?.currency ?? 'EUR'
  useTitle(t('launch.title'))
  const { body, faults } = build(form)
  const queue = queues.find((one) => one.name === form.queue)
  const types = [...new Set(agents.flatMap((agent) => (agent.gpu_type ? [agent.gpu_type] : [])))]
  const wrong = Object.values(faults)[0]
  // Faults of what is not written yet are shown only once it was tried.
  const early: Faults = { ...faults }
  if (!tried && !form.project) delete early.project
  if (!tried && !form.command) delete early.command
  if (answer?.field) early[answer.field] ??= answer.text
  const change = (part: Partial<Form>): void => {
    setAnswer(null)
    setPart(part)
  }
  const submit = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault()
    setTried(true)
    if (!body || wrong || busy) return
    setBusy(true)
    try {
      const params = { path: { project: form.project, job: ids.job } }
      const whole = { ...body, run: ids.run }
      await ask(client.PUT('/api/v1/projects/{project}/jobs/{job}', { params, body: whole }))
      void queries.invalidateQueries({ queryKey: ['jobs'] })
      navigate(`/jobs/${ids.job}`)
    } catch (error) {
      const field = error instanceof ApiError ? fieldOf(error.field) : null
      setAnswer({ field, text: failureOf(error) })
    } finally {
      setBusy(false)
    }
  }
  useShortcuts({ 'Ctrl+Enter': () => void submit() })
  const part = { form, faults: early, change }
  const place = { targets, agents, queue, shares, budget, currency }
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('launch.title')}</h1>
      </header>
      <form className="launch" onSubmit={submit} noValidate>
        <div className="overview-column">
          <What {...part} projects={projects} />
          <Needs {...part} types={types} />
          <Where
            {...part}
            targets={targets.map((target) => target.name)}
            queues={queues.length > 0 ? queues.map((one) => one.name) : ['default']}
            limit={queue?.timeout_s ?? WEEK_S}
          />
          <Series {...part} />
          <Data {...part} places={placesOf(form, targets)} />
        </div>
        <div className="overview-column launch-beside">
          <Fits body={body} place={place} />
          <When project={form.project} body={wrong ? null : body} currency={currency} />
          <Same form={form} body={body} />
          {answer && !answer.field && (
            <p className="form-error" role="alert">
              {answer.text}
            </p>
          )}
          <div className="launch-submit">
            <Button kind="main" type="submit" disabled={busy || wrong !== undefined}>
              {busy ? t('launch.busy') : t('launch.submit')}
            </Button>
            {wrong && <span className="muted">{wrong}</span>}
          </div>
        </div>
      </form>
    </div>
  )
}
