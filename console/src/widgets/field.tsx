import {
  type InputHTMLAttributes,
  type ReactElement,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { Icon } from './icon'

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string
  hint?: string | undefined
  error?: string | undefined
}

/** A labelled text field; hint and error are read out with it. */
export function Field({ label, hint, error, ...input }: FieldProps): ReactElement {
  const id = useId()
  const notes = [hint && `${id}h`, error && `${id}e`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        aria-describedby={notes || undefined}
        aria-invalid={error ? true : undefined}
        {...input}
      />
      {hint && !error && (
        <span id={`${id}h`} className="field-hint">
          {hint}
        </span>
      )}
      {error && (
        <span id={`${id}e`} className="form-error" role="alert">
          {error}
        </span>
      )}
    </div>
  )
}

interface TextProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  label: string
  hint?: string | undefined
  error?: string | undefined
}

/** As Field, for text of several lines. */
export function TextField({ label, hint, error, ...area }: TextProps): ReactElement {
  const id = useId()
  const notes = [hint && !error && `${id}h`, error && `${id}e`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="input mono"
        spellCheck={false}
        aria-describedby={notes || undefined}
        aria-invalid={error ? true : undefined}
        {...area}
      />
      {hint && !error && (
        <span id={`${id}h`} className="field-hint">
          {hint}
        </span>
      )}
      {error && (
        <span id={`${id}e`} className="form-error" role="alert">
          {error}
        </span>
      )}
    </div>
  )
}

interface SearchProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> {
  label: string
  value: string
  onChange: (value: string) => void
  inputRef?: Ref<HTMLInputElement>
}

export function SearchField({
  label,
  value,
  onChange,
  inputRef,
  ...rest
}: SearchProps): ReactElement {
  return (
    <span className="search">
      <Icon name="search" />
      <input
        type="search"
        className="input"
        ref={inputRef}
        aria-label={label}
        placeholder={label}
        value={value}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        {...rest}
      />
    </span>
  )
}

interface SelectProps<T extends string>
  extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> {
  label: string
  value: T
  choices: { value: T; label: string }[]
  onChange: (value: T) => void
}

export function Select<T extends string>(props: SelectProps<T>): ReactElement {
  const { label, value, choices, onChange, ...rest } = props
  return (
    <span className="select">
      <select
        aria-label={label}
        title={label}
        value={value}
        onChange={(event) => onChange(event.target.value as T)}
        {...rest}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <Icon name="down" size={12} />
    </span>
  )
}

interface ChoiceProps<T extends string> extends SelectProps<T> {
  hint?: string | undefined
  error?: string | undefined
}

/** A labelled choice, for forms. */
export function Choice<T extends string>({
  label,
  hint,
  error,
  ...select
}: ChoiceProps<T>): ReactElement {
  const id = useId()
  return (
    <div className="field">
      <span className="field-label" aria-hidden="true">
        {label}
      </span>
      <Select
        label={label}
        {...select}
        aria-describedby={hint || error ? `${id}n` : undefined}
        aria-invalid={error ? true : undefined}
      />
      {(hint || error) && (
        <span id={`${id}n`} className={error ? 'form-error' : 'field-hint'}>
          {error ?? hint}
        </span>
      )}
    </div>
  )
}
