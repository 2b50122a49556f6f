import { type FormEvent, type ReactElement, useState } from 'react'
import { ask, client, type Job } from '../../api/client'
import { usePriorityForecast, useQueues, useServer, useTargets } from '../../api/queries'
import { t } from '../../base/i18n'
import { useAction } from '../../widgets/action'
import { namedTargets } from '../../widgets/amount'
import { Button } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Choice, Field } from '../../widgets/field'
import { Forecast, Passed } from '../../widgets/forecast'
import { useRested } from '../../widgets/hooks'

/** What the priority that is being written would make of the job. */
function Preview({ job, priority }: { job: Job; priority: string }): ReactElement | null {
  const rested = useRested(priority, 300)
  const asked = Number(rested)
  const valid = /^-?\d+$/.test(rested) && Math.abs(asked) <= 1000
  const changes = valid && asked !== job.priority
  const found = usePriorityForecast(job.id, asked, changes)
  const currency = useServer().data?.currency ?? 'EUR'
  if (!changes) return null
  return (
    <div className="preview" role="status">
      {found.data === null && <p>{t('forecast.no_matter')}</p>}
      {found.data && (
        <>
          <Forecast forecast={found.data} currency={currency} />
          <Passed forecast={found.data} />
        </>
      )}
    </div>
  )
}

interface ChangeProps {
  job: Job
  onClose: () => void
  onChanged: () => Promise<void>
}

/** Priority of a job; while it waits, its queue and target too. */
export function ChangeJob({ job, onClose, onChanged }: ChangeProps): ReactElement {
  const waits = job.state === 'held' || job.state === 'queued'
  const before = namedTargets(job)
  const [priority, setPriority] = useState(String(job.priority))
  const [queue, setQueue] = useState(job.queue ?? 'default')
  const [target, setTarget] = useState(before[0] ?? '')
  const queues = useQueues().data ?? []
  const targets = useTargets().data ?? []
  const { busy, failure, run } = useAction()
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const body = {
      ...(Number(priority) === job.priority ? {} : { priority: Number(priority) }),
      ...(waits && queue !== job.queue ? { queue } : {}),
      ...(waits && target !== '' && target !== before[0] ? { targets: [{ target }] } : {}),
    }
    const params = { path: { job: job.id } }
    const done = await run(async () => {
      if (Object.keys(body).length > 0)
        await ask(client.PATCH('/api/v1/jobs/{job}', { params, body }))
      await onChanged()
    })
    if (done) onClose()
  }
  return (
    <Dialog title={t('job.change_title', { name: job.name || job.id })} open onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field
          label={t('job.priority')}
          hint={t('job.priority_hint')}
          error={failure || undefined}
          type="number"
          min={-1000}
          max={1000}
          value={priority}
          onChange={(event) => setPriority(event.target.value)}
          required
        />
        {job.state === 'queued' && <Preview job={job} priority={priority} />}
        {waits && (
          <>
            <Choice
              label={t('job.queue')}
              value={queue}
              onChange={setQueue}
              choices={queues.map((one) => ({ value: one.name, label: one.name }))}
            />
            <Choice
              label={t('job.target')}
              value={target}
              onChange={setTarget}
              choices={[
                ...(before.length === 0 ? [{ value: '', label: t('job.any_target') }] : []),
                ...targets.map((one) => ({ value: one.name, label: one.name })),
              ]}
            />
          </>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="main" type="submit" disabled={busy}>
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
