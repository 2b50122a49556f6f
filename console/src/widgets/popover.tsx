import type { ReactElement } from 'react'
import { Icon } from './icon'
import type { PopoverProps } from './kit/popover'
import { usePressed } from './pressed'

/** A panel beside its button: for settings that do not cover what they change. */
export function Popover(props: PopoverProps): ReactElement {
  const { kit, button } = usePressed(() => import('./kit/popover'))
  if (kit) return <kit.PopoverPanel {...props} />
  return (
    <button {...button} className="button button-plain" aria-haspopup="dialog">
      <Icon name={props.icon} />
      {props.label}
    </button>
  )
}
