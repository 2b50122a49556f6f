import { type KeyboardEvent, type ReactElement, useMemo, useRef, useState } from 'react'
import { ApiError } from '../../api/client'
import { useRunColumns } from '../../api/queries'
import { t } from '../../base/i18n'
import { SearchField } from '../../widgets/field'
import { useRested } from '../../widgets/hooks'
import { FIELDS } from './columns'
import { accept, complete, isFilter, wordAt } from './query'

interface FilterProps {
  project: string
  value: string
  onChange: (value: string) => void
  error: Error | null
}

/** The name of a key without its kind: what the server is asked to search for. */
const needleOf = (word: string): string => word.replace(/^(?:config|summary|metric)\./, '')

function useSuggestions(project: string, text: string, caret: number): string[] {
  const { word } = wordAt(text, caret)
  const needle = useRested(needleOf(word), 150)
  const asked = useRunColumns(project, needle, needle !== '' || word !== '')
  return useMemo(() => {
    const keys = new Set([...FIELDS, ...(asked.data ?? []).map((column) => column.key)])
    return complete(text, caret, [...keys])
  }, [asked.data, text, caret])
}

/** Where a filter is wrong: its text with the place marked, what is wrong, what was meant. */
function Fault({ text, error }: { text: string; error: ApiError }): ReactElement {
  const letters = [...text]
  const at = error.column - 1
  return (
    <div className="filter-fault" role="alert">
      {at >= 0 && (
        <code>
          {letters.slice(0, at).join('')}
          <mark>{letters[at] ?? ' '}</mark>
          {letters.slice(at + 1).join('')}
        </code>
      )}
      <span>{error.message}</span>
      {error.hint && <span className="muted">{error.hint}</span>}
    </div>
  )
}

/** One box: part of a name, or a filter whose keys are completed while they are written. */
export function FilterField({ project, value, onChange, error }: FilterProps): ReactElement {
  const input = useRef<HTMLInputElement>(null)
  const [caret, setCaret] = useState(0)
  const [at, setAt] = useState(-1)
  const [open, setOpen] = useState(false)
  const suggestions = useSuggestions(project, value, caret)
  const shown = open && suggestions.length > 0
  const current = Math.min(at, suggestions.length - 1)
  const take = (key: string): void => {
    const next = accept(value, caret, key)
    onChange(next.text)
    setCaret(next.caret)
    setOpen(false)
    setAt(-1)
    requestAnimationFrame(() => {
      input.current?.focus()
      input.current?.setSelectionRange(next.caret, next.caret)
    })
  }
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    const { key } = event
    if (shown && key === 'ArrowDown') setAt(Math.min(suggestions.length - 1, current + 1))
    else if (shown && key === 'ArrowUp') setAt(Math.max(-1, current - 1))
    else if (shown && (key === 'Tab' || (key === 'Enter' && current >= 0)))
      take(suggestions[Math.max(0, current)] as string)
    else if (shown && key === 'Escape') setOpen(false)
    else if (key === 'Escape') event.currentTarget.blur()
    else return
    event.preventDefault()
  }
  const fault = error instanceof ApiError && error.field === 'filter' && isFilter(value)
  return (
    <div className="filter">
      <SearchField
        label={t('runs.filter')}
        value={value}
        inputRef={input}
        onChange={(text) => {
          onChange(text)
          setCaret(input.current?.selectionStart ?? text.length)
          setOpen(true)
          setAt(-1)
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
        role="combobox"
        aria-expanded={shown}
        aria-autocomplete="list"
        aria-controls={shown ? 'filter-keys' : undefined}
        aria-activedescendant={shown && current >= 0 ? `filter-key-${current}` : undefined}
        aria-invalid={fault || undefined}
        data-filter=""
      />
      {shown && (
        <div
          className="filter-keys"
          id="filter-keys"
          role="listbox"
          aria-label={t('runs.filter_keys')}
        >
          {suggestions.map((key, i) => (
            <div
              key={key}
              id={`filter-key-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === current}
              onMouseDown={(event) => {
                event.preventDefault()
                take(key)
              }}
            >
              {key}
            </div>
          ))}
        </div>
      )}
      {fault && <Fault text={value} error={error} />}
    </div>
  )
}
