import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import * as kit from './menu-parts'

export interface MenuProps {
  label: string
  trigger: ReactNode
  triggerClass?: string
  iconOnly?: boolean // then the label is its name; else the words in the trigger are
  align?: 'start' | 'end'
  side?: 'top' | 'bottom'
  children: (parts: typeof kit) => ReactNode
}

/** Takes the place of the plain button that was pressed, so it starts open. */
export function MenuPopup(props: MenuProps): ReactElement {
  const { label, trigger, triggerClass, iconOnly, align, side, children } = props
  return (
    <Base.Root defaultOpen>
      <Base.Trigger
        className={triggerClass ?? 'button button-quiet'}
        aria-label={iconOnly ? label : undefined}
        title={label}
      >
        {trigger}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner
          className="floating"
          align={align ?? 'start'}
          side={side ?? 'bottom'}
          sideOffset={4}
        >
          <Base.Popup className="menu">{children(kit)}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
