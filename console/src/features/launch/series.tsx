// Parts of the launch form beyond one job on one machine: services, arrays, what comes before,
// volumes and buckets.
import type { ReactElement } from 'react'
import type { Job, Target } from '../../api/client'
import { useJobs } from '../../api/queries'
import { t } from '../../base/i18n'
import { isArrayLine, lineEnded, lineId, lineName } from '../../widgets/array'
import { Card } from '../../widgets/facts'
import { Choice, Field, TextField } from '../../widgets/field'
import { at, type PartProps } from './part'

/** A job ends by itself, a service does not. */
export function Kind(props: PartProps): ReactElement {
  const { form, faults, change } = props
  return (
    <>
      <Choice
        label={t('launch.kind')}
        value={form.kind}
        error={faults.kind}
        onChange={(kind) => change({ kind })}
        choices={[
          { value: 'batch', label: t('launch.kind_batch') },
          { value: 'service', label: t('launch.kind_service') },
        ]}
      />
      {form.kind === 'service' && (
        <div className="launch-grid">
          <Field
            label={t('launch.replicas')}
            type="number"
            inputMode="numeric"
            min={1}
            max={1000}
            placeholder="1"
            {...at(props, 'replicas')}
          />
          <Field
            label={t('launch.health')}
            hint={t('launch.health_hint')}
            placeholder="8000/up"
            spellCheck={false}
            {...at(props, 'health')}
          />
        </div>
      )}
    </>
  )
}

interface Before {
  value: string
  label: string
}

/** What a job may come after: an array stands for its jobs. */
function beforesOf(jobs: Job[]): Before[] {
  return jobs
    .filter((job) => !lineEnded(job))
    .map((job) => {
      const n = job.array?.count ?? 1
      const name = lineName(job)
      const label = isArrayLine(job) ? t('launch.after_array', { name, n }) : name
      return { value: lineId(job), label }
    })
}

export function Series(props: PartProps): ReactElement {
  const { form, change } = props
  const jobs = useJobs(form.project, form.project !== '').data?.items ?? []
  const chosen = new Set(form.after.split('\n').map((line) => line.trim().replace(/:any$/, '')))
  const befores = beforesOf(jobs).filter((one) => !chosen.has(one.value))
  const add = (id: string): void =>
    change({ after: [...form.after.split('\n').filter((line) => line.trim()), id].join('\n') })
  return (
    <Card title={t('launch.series')}>
      <div className="form launch-form">
        <Field
          label={t('launch.array')}
          hint={t('launch.array_hint')}
          placeholder="0-99%10"
          spellCheck={false}
          {...at(props, 'array')}
        />
        <TextField
          label={t('launch.after')}
          hint={t('launch.after_hint')}
          rows={2}
          {...at(props, 'after')}
        />
        {befores.length > 0 && (
          <Choice
            label={t('launch.after_add')}
            value=""
            onChange={(id) => id !== '' && add(id)}
            choices={[{ value: '', label: t('launch.after_choose') }, ...befores]}
          />
        )}
      </div>
    </Card>
  )
}

const known = (things: { name: string }[][]): string =>
  [...new Set(things.flat().map((one) => one.name))].join(', ')

/** `places`: the targets that the job names, else all. */
export function Data(props: PartProps & { places: Target[] }): ReactElement {
  const volumes = known(props.places.map((target) => target.volumes))
  const buckets = known(props.places.map((target) => target.buckets))
  const hint = (text: string, names: string): string =>
    names ? `${text} ${t('launch.volumes_known', { names })}` : text
  return (
    <Card title={t('launch.data')}>
      <div className="form launch-form">
        <TextField
          label={t('launch.volumes')}
          hint={hint(t('launch.volumes_hint'), volumes)}
          rows={2}
          {...at(props, 'volumes')}
        />
        <Field
          label={t('launch.buckets')}
          hint={hint(t('launch.buckets_hint'), buckets)}
          spellCheck={false}
          {...at(props, 'buckets')}
        />
      </div>
    </Card>
  )
}
