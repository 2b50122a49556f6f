import { type ReactElement, type ReactNode, useEffect, useState } from 'react'
import { ApiError } from '../api/client'
import { t } from '../base/i18n'
import { Button } from './button'
import { Icon } from './icon'

/** A command that works as pasted. */
export function Command({ text, label }: { text: string; label?: string }): ReactElement {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <div className="command">
      <pre role="note" aria-label={label}>
        {text}
      </pre>
      <button type="button" className="command-copy" onClick={copy}>
        <Icon name={copied ? 'check' : 'copy'} />
        {copied ? t('common.copied') : t('common.copy')}
      </button>
    </div>
  )
}

/** Nothing here yet: one sentence, and what to do. */
export function Empty(props: {
  text: string
  hint?: string
  whole?: boolean // the whole page: then its sentence is the heading
  children?: ReactNode
}): ReactElement {
  const Text = props.whole ? 'h1' : 'p'
  return (
    <div className="empty">
      <Text className="empty-text">{props.text}</Text>
      {props.hint && <p className="empty-hint">{props.hint}</p>}
      {props.children}
    </div>
  )
}

/** Appears only when loading takes long enough to be noticed. */
export function Loading(): ReactElement | null {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150)
    return () => clearTimeout(timer)
  }, [])
  if (!late) return null
  return (
    <div className="loading" role="status">
      <span className="loading-bar" />
      <span className="visually-hidden">{t('common.loading')}</span>
    </div>
  )
}

function failureText(error: Error): string {
  if (!(error instanceof ApiError)) return t('error.unexpected')
  if (error.status === 0) return t('error.network')
  if (error.status === 403) return t('error.forbidden')
  if (error.status === 404) return t('error.not_found')
  return error.message || t('error.unexpected')
}

export function Failure(props: {
  error: Error
  whole?: boolean // the whole page: then its sentence is the heading
  onRetry?: () => void
}): ReactElement {
  const { error, onRetry } = props
  const request = error instanceof ApiError ? error.requestId : ''
  const Text = props.whole ? 'h1' : 'p'
  return (
    <div className="empty" role="alert">
      <Text className="empty-text">{failureText(error)}</Text>
      {request && <p className="empty-hint mono">{t('common.request', { id: request })}</p>}
      {onRetry && (
        <Button icon="reset" onClick={onRetry}>
          {t('common.retry')}
        </Button>
      )}
    </div>
  )
}

/** Shows what was asked for, or why it is not there. Old data stays while new data loads. */
export function Shown<T>(props: {
  asked: { data: T | undefined; error: Error | null; refetch: () => unknown }
  whole?: boolean // what was asked for is the whole page
  children: (data: T) => ReactNode
}): ReactElement {
  const { data, error, refetch } = props.asked
  if (data !== undefined) return <>{props.children(data)}</>
  if (error) {
    return <Failure error={error} whole={props.whole ?? false} onRetry={() => void refetch()} />
  }
  return <Loading />
}
