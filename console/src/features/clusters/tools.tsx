// What an administrator does to a machine: maintenance, leaving it out of its target.
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { ask, client, type MachineNode, type Target } from '../../api/client'
import { t } from '../../base/i18n'
import { useAction } from '../../widgets/action'
import { Button } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Field } from '../../widgets/field'

function Maintain(props: {
  node: MachineNode
  onClose: () => void
  onDone: () => Promise<void>
}): ReactElement {
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState('')
  const { busy, failure, run } = useAction()
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const params = { path: { agent: props.node.id } }
    const body = { reason, ...(until ? { until: new Date(until).toISOString() } : {}) }
    const done = await run(async () => {
      await ask(client.PUT('/api/v1/agents/{agent}/maintenance', { params, body }))
      await props.onDone()
    })
    if (done) props.onClose()
  }
  return (
    <Dialog
      title={t('node.maintain_title', { name: props.node.name })}
      open
      onClose={props.onClose}
    >
      <form className="form" onSubmit={submit}>
        <p className="dialog-text">{t('node.maintain_text')}</p>
        <Field
          label={t('node.reason')}
          hint={t('node.reason_hint')}
          value={reason}
          maxLength={200}
          required
          onChange={(event) => setReason(event.target.value)}
        />
        <Field
          label={t('node.until')}
          hint={t('node.until_hint')}
          type="datetime-local"
          value={until}
          onChange={(event) => setUntil(event.target.value)}
        />
        {failure && (
          <p className="form-error" role="alert">
            {failure}
          </p>
        )}
        <div className="dialog-actions">
          <Button onClick={props.onClose}>{t('common.cancel')}</Button>
          <Button kind="main" type="submit" disabled={busy || reason.trim() === ''}>
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

export function NodeTools(props: { node: MachineNode; target: Target | undefined }): ReactElement {
  const { node, target } = props
  const queries = useQueryClient()
  const [open, setOpen] = useState(false)
  const { busy, failure, run } = useAction()
  const refresh = async (): Promise<void> => {
    await queries.invalidateQueries({ queryKey: ['targets'] })
    await queries.invalidateQueries({ queryKey: ['nodes'] })
  }
  const serve = async (): Promise<void> => {
    const params = { path: { agent: node.id } }
    await ask(client.DELETE('/api/v1/agents/{agent}/maintenance', { params }))
    await refresh()
  }
  const exclude = async (): Promise<void> => {
    const others = (target?.excluded ?? []).filter((name) => name !== node.name)
    const params = { path: { target: node.target } }
    const body = { excluded: node.excluded ? others : [...others, node.name] }
    await ask(client.PUT('/api/v1/targets/{target}', { params, body }))
    await refresh()
  }
  return (
    <>
      {failure && (
        <span className="form-error" role="alert">
          {failure}
        </span>
      )}
      <Button onClick={() => void run(exclude)} disabled={busy || !target}>
        {node.excluded ? t('node.include') : t('node.exclude')}
      </Button>
      {node.maintenance ? (
        <Button kind="main" onClick={() => void run(serve)} disabled={busy}>
          {t('node.serve')}
        </Button>
      ) : (
        <Button icon="clock" onClick={() => setOpen(true)}>
          {t('node.maintain')}
        </Button>
      )}
      {open && <Maintain node={node} onClose={() => setOpen(false)} onDone={refresh} />}
    </>
  )
}
