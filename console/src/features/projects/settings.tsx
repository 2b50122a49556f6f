import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { ApiError, ask, client, type Project } from '../../api/client'
import { useRunCount } from '../../api/queries'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Choice, Field } from '../../widgets/field'
import { useRested } from '../../widgets/hooks'

const DAYS_MAX = 36_500
const SILENT_MIN = 10
const SILENT_MAX = 2_592_000
const IDLE_MIN = 5
const IDLE_MAX = 10_080
const FIELDS = ['title', 'description', 'silent_s', 'retain_days', 'idle_gpus', 'idle_minutes']

/** The runs that retention would delete: docs/deleting.md has the same words. */
const oldRuns = (days: number): string =>
  `ended < ${days}d ago and tags != keep and state not in (running, pending)`

/** The rule, and what this number of days would delete now; asked when the writing rests. */
function useRetained(project: Project, text: string): string {
  const rested = useRested(text)
  const days = Number(rested)
  const asks = rested !== '' && Number.isInteger(days) && days >= 1 && days <= DAYS_MAX
  const find = { filter: asks ? oldRuns(days) : '', search: '', state: '' }
  const count = useRunCount(project.name, find, asks)
  const rule = t('projects.retain_hint')
  if (!asks || rested !== text || count.data === undefined) return rule
  return `${rule} ${t('projects.retain_count', { n: count.data })}`
}

/** What is wrong, and in which field: "" for none of them alone. */
interface Fault {
  field: string
  text: string
}

function faultOf(error: unknown): Fault {
  if (!(error instanceof ApiError) || !error.message) {
    return { field: '', text: t('error.unexpected') }
  }
  return { field: FIELDS.includes(error.field) ? error.field : '', text: error.message }
}

/** Title, description, after how much silence a run counts as crashed, how long runs are kept. */
export function ProjectSettings(props: { project: Project; onClose: () => void }): ReactElement {
  const { project, onClose } = props
  const queries = useQueryClient()
  const [title, setTitle] = useState(project.title)
  const [description, setDescription] = useState(project.description)
  const [silent, setSilent] = useState(project.silent_is_default ? '' : String(project.silent_s))
  const [days, setDays] = useState(project.retain_days > 0 ? String(project.retain_days) : '')
  const [idle, setIdle] = useState(project.idle_gpus)
  const [minutes, setMinutes] = useState(String(project.idle_minutes))
  const [fault, setFault] = useState<Fault | null>(null)
  const retained = useRetained(project, days)
  const faultIn = (field: string): string | undefined =>
    fault?.field === field ? fault.text : undefined
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const numbers = { silent_s: Number(silent) || 0, retain_days: Number(days) || 0 }
    const policy = { idle_gpus: idle, idle_minutes: Number(minutes) || project.idle_minutes }
    const body = { title, description, ...numbers, ...policy }
    try {
      const params = { path: { project: project.name } }
      await ask(client.PATCH('/api/v1/projects/{project}', { params, body }))
      await queries.invalidateQueries({ queryKey: ['projects'] })
      onClose()
    } catch (error) {
      setFault(faultOf(error))
    }
  }
  return (
    <Dialog title={t('projects.settings', { name: project.name })} open onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field
          label={t('projects.title_field')}
          error={faultIn('title')}
          value={title}
          maxLength={200}
          onChange={(event) => setTitle(event.target.value)}
        />
        <Field
          label={t('projects.description')}
          error={faultIn('description')}
          value={description}
          maxLength={10_000}
          onChange={(event) => setDescription(event.target.value)}
        />
        <Field
          label={t('projects.silent')}
          hint={`${t('projects.silent_means')} ${t('projects.silent_hint', { n: project.silent_s })}`}
          error={faultIn('silent_s')}
          type="number"
          min={SILENT_MIN}
          max={SILENT_MAX}
          value={silent}
          onChange={(event) => setSilent(event.target.value)}
        />
        <Field
          label={t('projects.retain')}
          hint={retained}
          error={faultIn('retain_days')}
          type="number"
          min={1}
          max={DAYS_MAX}
          value={days}
          onChange={(event) => setDays(event.target.value)}
        />
        <Choice
          label={t('projects.idle')}
          error={faultIn('idle_gpus')}
          value={idle}
          onChange={setIdle}
          choices={[
            { value: 'warn', label: t('projects.idle_warn') },
            { value: 'stop', label: t('projects.idle_stop') },
          ]}
        />
        <Field
          label={t('projects.idle_minutes')}
          hint={t('projects.idle_hint')}
          error={faultIn('idle_minutes')}
          type="number"
          min={IDLE_MIN}
          max={IDLE_MAX}
          value={minutes}
          onChange={(event) => setMinutes(event.target.value)}
        />
        {fault?.field === '' && (
          <p className="form-error" role="alert">
            {fault.text}
          </p>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="main" type="submit">
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
