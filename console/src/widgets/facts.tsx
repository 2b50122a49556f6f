import { type ReactElement, type ReactNode, useMemo, useState } from 'react'
import { formatValue } from '../base/format'
import { flatten } from '../base/values'
import { SearchField } from './field'

/** Names and values side by side; what has no value is left out. */
export function Facts({ items }: { items: [string, ReactNode][] }): ReactElement {
  return (
    <dl className="facts">
      {items
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

export function Card(props: {
  title: string
  tools?: ReactNode
  children: ReactNode
}): ReactElement {
  return (
    <section className="card" aria-label={props.title}>
      <header className="card-head">
        <h2>{props.title}</h2>
        {props.tools}
      </header>
      <div className="card-body">{props.children}</div>
    </section>
  )
}

interface RowsProps {
  value: unknown
  needle?: string // in lower case: rows without it are left out
  notes?: ReadonlyMap<string, string> | undefined // what to say of a value, by its name
}

/** Nested values as flat rows of names and values. */
export function ValueRows({ value, needle = '', notes }: RowsProps): ReactElement {
  const rows = useMemo(() => flatten(value), [value])
  const shown = needle
    ? rows.filter((row) => `${row.path} ${formatValue(row.value)}`.toLowerCase().includes(needle))
    : rows
  return (
    <table className="table key-values">
      <tbody>
        {shown.map((row) => (
          <tr key={row.path}>
            <th scope="row" className="mono">
              {row.path}
            </th>
            <td className={`mono ${typeof row.value === 'number' ? 'value-number' : ''}`}>
              {formatValue(row.value)}
              {notes?.has(row.path) && <span className="value-note">{notes.get(row.path)}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface KeyValuesProps {
  title: string
  value: unknown
  empty: string
  searchLabel: string
  notes?: ReadonlyMap<string, string> // what to say of a value, by its name
}

const SEARCH_FROM = 12

/** Nested values as flat, searchable rows. */
export function KeyValues({
  title,
  value,
  empty,
  searchLabel,
  notes,
}: KeyValuesProps): ReactElement {
  const [search, setSearch] = useState('')
  const count = useMemo(() => flatten(value).length, [value])
  const tools =
    count >= SEARCH_FROM ? (
      <SearchField label={searchLabel} value={search} onChange={setSearch} />
    ) : undefined
  return (
    <Card title={title} tools={tools}>
      {count === 0 ? (
        <p className="empty-hint">{empty}</p>
      ) : (
        <ValueRows value={value} needle={search.toLowerCase()} notes={notes} />
      )}
    </Card>
  )
}
