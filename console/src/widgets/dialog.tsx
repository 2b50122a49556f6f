import { type FormEvent, lazy, type ReactElement, Suspense, useState } from 'react'
import { t } from '../base/i18n'
import { Button } from './button'
import type { DialogProps } from './kit/dialog'

const Popup = lazy(async () => ({ default: (await import('./kit/dialog')).DialogPopup }))

/** A dialog's machinery is heavy and no page shows one at first: it comes with the first opening. */
export function Dialog(props: DialogProps): ReactElement | null {
  const [wanted, setWanted] = useState(props.open)
  if (props.open && !wanted) setWanted(true)
  if (!wanted) return null
  return (
    <Suspense fallback={null}>
      <Popup {...props} />
    </Suspense>
  )
}

interface ConfirmProps {
  title: string
  text: string
  action: string
  keep?: string
  open: boolean
  onClose: () => void
  onConfirm: () => Promise<unknown>
}

/** Asks before what cannot be undone. Stays open and says why when it fails. */
export function Confirm(props: ConfirmProps): ReactElement {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setFailure('')
    try {
      await props.onConfirm()
      props.onClose()
    } catch (error) {
      setFailure(error instanceof Error && error.message ? error.message : t('error.unexpected'))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog title={props.title} open={props.open} onClose={props.onClose}>
      <form onSubmit={submit}>
        <p className="dialog-text">{props.text}</p>
        {failure && (
          <p className="form-error" role="alert">
            {failure}
          </p>
        )}
        <div className="dialog-actions">
          <Button onClick={props.onClose}>{props.keep ?? t('common.cancel')}</Button>
          <Button kind="danger" type="submit" disabled={busy}>
            {props.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
