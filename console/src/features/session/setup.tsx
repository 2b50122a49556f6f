import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError, ask, client } from '../../api/client'
import { useServer } from '../../api/queries'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Field } from '../../widgets/field'
import { useTitle } from '../../widgets/hooks'
import { Logo } from '../../widgets/logo'

const PASSWORD_MIN = 12

/** The one-time token travels in the fragment, which no server or proxy ever sees. */
function takeToken(): string {
  const token = location.hash.slice(1)
  if (token) history.replaceState(null, '', location.pathname)
  return token
}

/** The first start: makes the first administrator and signs in. */
export function Setup(): ReactElement {
  const queries = useQueryClient()
  const server = useServer()
  const [, navigate] = useLocation()
  const [token] = useState(takeToken)
  const [login, setLogin] = useState('admin')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  useTitle(t('setup.title'))

  const short = password.length < PASSWORD_MIN
  const differ = password !== again
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setTried(true)
    if (short || differ) return
    setBusy(true)
    try {
      const me = await ask(client.POST('/api/v1/setup', { body: { token, login, password } }))
      queries.setQueryData(['me'], me)
      void queries.invalidateQueries({ queryKey: ['server'] })
      navigate('/', { replace: true })
    } catch (error) {
      setFailure(error instanceof ApiError && error.message ? error.message : t('error.unexpected'))
      setBusy(false)
    }
  }
  const closed = server.data && !server.data.setup_needed
  return (
    <main className="door">
      <form className="door-card" onSubmit={submit} noValidate>
        <Logo size={36} />
        <h1>{t('setup.title')}</h1>
        {closed ? (
          <>
            <p className="notice">{t('setup.done_already')}</p>
            <Button kind="main" onClick={() => navigate('/')}>
              {t('signin.title')}
            </Button>
          </>
        ) : (
          <>
            <p className="door-text">{token ? t('setup.intro') : t('setup.no_token')}</p>
            <Field
              label={t('signin.login')}
              hint={t('setup.login_form')}
              value={login}
              onChange={(event) => setLogin(event.target.value)}
              autoComplete="username"
              autoCapitalize="none"
              spellCheck={false}
            />
            <Field
              label={t('signin.password')}
              type="password"
              hint={t('setup.short')}
              error={tried && short ? t('setup.short') : undefined}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
              autoComplete="new-password"
            />
            <Field
              label={t('setup.again')}
              type="password"
              error={tried && !short && differ ? t('setup.differ') : undefined}
              value={again}
              onChange={(event) => setAgain(event.target.value)}
              autoComplete="new-password"
            />
            {failure && (
              <p className="form-error" role="alert">
                {failure}
              </p>
            )}
            <Button kind="main" type="submit" disabled={busy || !token}>
              {busy ? t('setup.busy') : t('setup.submit')}
            </Button>
          </>
        )}
      </form>
    </main>
  )
}
