import { Popover as Base } from '@base-ui/react/popover'
import type { ReactElement, ReactNode } from 'react'
import { Icon, type IconName } from './icon'

/** A panel beside its button: for settings that do not cover what they change. */
export function Popover(props: {
  label: string
  icon: IconName
  children: ReactNode
}): ReactElement {
  return (
    <Base.Root>
      <Base.Trigger className="button button-plain">
        <Icon name={props.icon} />
        {props.label}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner align="end" sideOffset={4}>
          <Base.Popup className="popover" aria-label={props.label}>
            {props.children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
