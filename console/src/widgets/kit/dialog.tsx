import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactElement, ReactNode } from 'react'
import { t } from '../../base/i18n'
import { IconButton } from '../button'

export interface DialogProps {
  title: string
  open: boolean
  onClose: () => void
  children: ReactNode
  wide?: boolean
}

export function DialogPopup({ title, open, onClose, children, wide }: DialogProps): ReactElement {
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
