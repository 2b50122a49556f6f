import { Dialog as Base } from '@base-ui/react/dialog'
import { type FormEvent, type ReactElement, type ReactNode, useState } from 'react'
import { t } from '../base/i18n'
import { Button, IconButton } from './button'

interface DialogProps {
  title: string
  open: boolean
  onClose: () => void
  children: ReactNode
  wide?: boolean
}

export function Dialog({ title, open, onClose, children, wide }: DialogProps): ReactElement {
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="dialog-backdrop" />
        <Base.Popup className={`dialog ${wide ? 'dialog-wide' : ''}`}>
          <div className="dialog-head">
            <Base.Title className="dialog-title">{title}</Base.Title>
            <IconButton icon="close" label={t('common.close')} onClick={onClose} />
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
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
