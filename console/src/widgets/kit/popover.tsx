import { Popover as Base } from '@base-ui/react/popover'
import type { ReactElement, ReactNode } from 'react'
import { Icon, type IconName } from '../icon'

export interface PopoverProps {
  label: string
  icon: IconName
  children: ReactNode
}

/** Takes the place of the plain button that was pressed, so it starts open. */
export function PopoverPanel(props: PopoverProps): ReactElement {
  return (
    <Base.Root defaultOpen>
      <Base.Trigger className="button button-plain">
        <Icon name={props.icon} />
        {props.label}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="floating" align="end" sideOffset={4}>
          <Base.Popup className="popover" aria-label={props.label}>
            {props.children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
