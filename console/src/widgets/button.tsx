import type { ButtonHTMLAttributes, ReactElement, ReactNode } from 'react'
import { Icon, type IconName } from './icon'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'plain' | 'main' | 'danger' | 'quiet'
  icon?: IconName
  children?: ReactNode
}

export function Button({
  kind = 'plain',
  icon,
  children,
  className,
  ...rest
}: ButtonProps): ReactElement {
  return (
    <button type="button" {...rest} className={`button button-${kind} ${className ?? ''}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: IconName
  label: string
  pressed?: boolean
}

/** An icon alone: its words are its name for screen readers and its tooltip. */
export function IconButton({
  icon,
  label,
  pressed,
  className,
  ...rest
}: IconButtonProps): ReactElement {
  return (
    <button
      type="button"
      {...rest}
      className={`icon-button ${className ?? ''}`}
      aria-label={label}
      title={label}
      {...(pressed === undefined ? {} : { 'aria-pressed': pressed })}
    >
      <Icon name={icon} />
    </button>
  )
}

interface Choice<T extends string> {
  value: T
  label: string
  icon?: IconName
}

/** A few choices side by side, one of them on. */
export function Segments<T extends string>(props: {
  label: string
  value: T
  choices: Choice<T>[]
  onChange: (value: T) => void
}): ReactElement {
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{props.label}</legend>
      {props.choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === props.value}
          title={choice.label}
          onClick={() => props.onChange(choice.value)}
        >
          {choice.icon ? (
            <>
              <Icon name={choice.icon} />
              <span className="visually-hidden">{choice.label}</span>
            </>
          ) : (
            choice.label
          )}
        </button>
      ))}
    </fieldset>
  )
}
