import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { ApiError, ask, client, type Project } from '../../api/client'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Field } from '../../widgets/field'

/** Title, and after how much silence a run of the project counts as crashed. */
export function ProjectSettings(props: { project: Project; onClose: () => void }): ReactElement {
  const { project, onClose } = props
  const queries = useQueryClient()
  const [title, setTitle] = useState(project.title)
  const [description, setDescription] = useState(project.description)
  const [silent, setSilent] = useState(project.silent_is_default ? '' : String(project.silent_s))
  const [failure, setFailure] = useState('')
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const body = { title, description, silent_s: Number(silent) || 0 }
    try {
      const params = { path: { project: project.name } }
      await ask(client.PATCH('/api/v1/projects/{project}', { params, body }))
      await queries.invalidateQueries({ queryKey: ['projects'] })
      onClose()
    } catch (error) {
      setFailure(error instanceof ApiError && error.message ? error.message : t('error.unexpected'))
    }
  }
  return (
    <Dialog title={t('projects.settings', { name: project.name })} open onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field
          label={t('projects.title_field')}
          value={title}
          maxLength={200}
          onChange={(event) => setTitle(event.target.value)}
        />
        <Field
          label={t('projects.description')}
          value={description}
          maxLength={10_000}
          onChange={(event) => setDescription(event.target.value)}
        />
        <Field
          label={t('projects.silent')}
          hint={t('projects.silent_hint', { n: project.silent_s })}
          error={failure || undefined}
          type="number"
          min={10}
          max={2_592_000}
          value={silent}
          onChange={(event) => setSilent(event.target.value)}
        />
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
