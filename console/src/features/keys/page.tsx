import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { type AccessKey, ApiError, ask, client, type KeySecret } from '../../api/client'
import { useKeys } from '../../api/queries'
import { formatAgo, formatDate } from '../../base/format'
import { t, tName } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Confirm, Dialog } from '../../widgets/dialog'
import { Command, Empty, Shown } from '../../widgets/empty'
import { Field } from '../../widgets/field'
import { useShortcuts, useTitle } from '../../widgets/hooks'

function NewKey({ onClose }: { onClose: () => void }): ReactElement {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [made, setMade] = useState<KeySecret | null>(null)
  const [failure, setFailure] = useState('')
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    try {
      setMade(await ask(client.POST('/api/v1/keys', { body: { kind: 'user', name } })))
      void queries.invalidateQueries({ queryKey: ['keys'] })
    } catch (error) {
      setFailure(error instanceof ApiError && error.message ? error.message : t('error.unexpected'))
    }
  }
  return (
    <Dialog title={t('keys.new')} open onClose={onClose} wide>
      {made ? (
        <div className="form">
          <p className="notice">{t('keys.once')}</p>
          <Command text={made.key} label={made.name} />
          <p className="dialog-text">{t('keys.use_it')}</p>
          <Command text={`euvyra login --server ${location.origin}`} />
          <div className="dialog-actions">
            <Button kind="main" onClick={onClose}>
              {t('common.close')}
            </Button>
          </div>
        </div>
      ) : (
        <form className="form" onSubmit={submit}>
          <Field
            label={t('keys.name')}
            value={name}
            maxLength={100}
            error={failure || undefined}
            onChange={(event) => setName(event.target.value)}
            required
            autoFocus
          />
          <div className="dialog-actions">
            <Button onClick={onClose}>{t('common.cancel')}</Button>
            <Button kind="main" type="submit" disabled={!name.trim()}>
              {t('common.create')}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

export function KeysPage(): ReactElement {
  const queries = useQueryClient()
  const keys = useKeys()
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<AccessKey | null>(null)
  useTitle(t('keys.title'))
  useShortcuts({ n: () => setCreating(true) })
  const revoke = async (): Promise<void> => {
    if (!revoking) return
    await ask(client.DELETE('/api/v1/keys/{key}', { params: { path: { key: revoking.id } } }))
    await queries.invalidateQueries({ queryKey: ['keys'] })
  }
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('keys.title')}</h1>
        <span className="spring" />
        <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
          {t('keys.new')}
        </Button>
      </header>
      <p className="muted page-intro">{t('keys.intro')}</p>
      <Shown asked={keys}>
        {(found) =>
          found.length === 0 ? (
            <Empty text={t('keys.empty')} />
          ) : (
            <div className="table-scroll">
              <table className="table table-rows">
                <thead>
                  <tr>
                    <th scope="col">{t('common.name')}</th>
                    <th scope="col">{t('keys.column_kind')}</th>
                    <th scope="col">{t('run.owner')}</th>
                    <th scope="col">{t('common.created')}</th>
                    <th scope="col">{t('keys.column_used')}</th>
                    <th scope="col">{t('keys.column_expires')}</th>
                    <th scope="col">
                      <span className="visually-hidden">{t('common.actions')}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.map((key) => (
                    <tr key={key.id}>
                      <th scope="row">{key.name}</th>
                      <td>{tName('keys', `kind_${key.kind}`)}</td>
                      <td>{key.owner}</td>
                      <td>{formatAgo(key.created_at)}</td>
                      <td>{formatAgo(key.last_used_at)}</td>
                      <td>{key.expires_at ? formatDate(key.expires_at) : t('time.never')}</td>
                      <td className="num">
                        <Button kind="quiet" onClick={() => setRevoking(key)}>
                          {t('keys.revoke')}
                        </Button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
      {creating && <NewKey onClose={() => setCreating(false)} />}
      <Confirm
        title={t('keys.revoke')}
        text={t('keys.revoke_sure', { name: revoking?.name ?? '' })}
        action={t('keys.revoke')}
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        onConfirm={revoke}
      />
    </div>
  )
}
