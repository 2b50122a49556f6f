import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { Icon, type IconName } from '../icon'

interface ItemProps {
  icon?: IconName
  danger?: boolean
  onSelect: () => void
  children: ReactNode
}

export function MenuItem({ icon, danger, onSelect, children }: ItemProps): ReactElement {
  return (
    <Base.Item className={`menu-item ${danger ? 'menu-danger' : ''}`} onClick={onSelect}>
      <span className="menu-mark">{icon && <Icon name={icon} />}</span>
      {children}
    </Base.Item>
  )
}

interface ChoicesProps<T extends string> {
  label: string
  value: T
  choices: { value: T; label: string }[]
  onChange: (value: T) => void
}

export function MenuChoices<T extends string>(props: ChoicesProps<T>): ReactElement {
  return (
    <Base.RadioGroup value={props.value} onValueChange={(value: T) => props.onChange(value)}>
      <MenuTitle>{props.label}</MenuTitle>
      {props.choices.map((choice) => (
        <Base.RadioItem key={choice.value} className="menu-item" value={choice.value} closeOnClick>
          <span className="menu-mark">
            <Base.RadioItemIndicator>
              <Icon name="check" />
            </Base.RadioItemIndicator>
          </span>
          {choice.label}
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  )
}

export function MenuTitle({ children }: { children: ReactNode }): ReactElement {
  return <div className="menu-title">{children}</div>
}

export function MenuLine(): ReactElement {
  return <Base.Separator className="menu-line" />
}
