import type { ReactElement } from 'react'
import type { MenuProps } from './kit/menu'
import { usePressed } from './pressed'

/** A button with a menu. */
export function Menu(props: MenuProps): ReactElement {
  const { kit, button } = usePressed(() => import('./kit/menu'))
  if (kit) return <kit.MenuPopup {...props} />
  return (
    <button
      {...button}
      className={props.triggerClass ?? 'button button-quiet'}
      aria-label={props.iconOnly ? props.label : undefined}
      title={props.label}
      aria-haspopup="menu"
    >
      {props.trigger}
    </button>
  )
}
