import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { ApiError, ask, client } from '../../api/client'
import { useServer } from '../../api/queries'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Field } from '../../widgets/field'
import { useTitle } from '../../widgets/hooks'
import { Logo } from '../../widgets/logo'

/** Shown in place of any page until somebody is signed in; the address stays. */
export function SignIn(): ReactElement {
  const queries = useQueryClient()
  const server = useServer()
  const [login, setLogin] = useState('')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  useTitle(t('signin.title'))

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setFailure('')
    try {
      const me = await ask(client.POST('/api/v1/sessions', { body: { login, password } }))
      queries.setQueryData(['me'], me)
    } catch (error) {
      const known = error instanceof ApiError ? error : null
      if (known?.status === 401) setFailure(t('signin.wrong'))
      else if (known?.status === 0) setFailure(t('error.network'))
      else setFailure(known?.message || t('error.unexpected'))
      setBusy(false)
    }
  }
  return (
    <main className="door">
      <form className="door-card" onSubmit={submit}>
        <Logo size={36} />
        <h1>{t('signin.title')}</h1>
        {server.data?.setup_needed && <p className="notice">{t('signin.setup_needed')}</p>}
        <Field
          label={t('signin.login')}
          value={login}
          onChange={(event) => setLogin(event.target.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          autoFocus
        />
        <Field
          label={t('signin.password')}
          type="password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          autoComplete="current-password"
          required
        />
        {failure && (
          <p className="form-error" role="alert">
            {failure}
          </p>
        )}
        <Button kind="main" type="submit" disabled={busy}>
          {busy ? t('signin.busy') : t('signin.submit')}
        </Button>
      </form>
    </main>
  )
}
