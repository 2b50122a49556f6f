import { type ReactElement, useMemo, useState } from 'react'
import type { Run } from '../../api/client'
import { type Key, t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { SearchField } from '../../widgets/field'
import { Popover } from '../../widgets/popover'
import { allKeys, type ColumnId, GENERAL } from './columns'

interface PickerProps {
  runs: Run[]
  columns: ColumnId[]
  onChange: (columns: ColumnId[] | null) => void
}

interface Group {
  title: string
  columns: { id: ColumnId; title: string }[]
}

function groupsOf(runs: Run[]): Group[] {
  const general = GENERAL.map((id) => ({ id, title: t(`runs.column_${id}` as Key) }))
  const keys = (kind: 'config' | 'summary'): Group['columns'] =>
    allKeys(runs, kind).map((key) => ({ id: `${kind}:${key}` as ColumnId, title: key }))
  return [
    { title: t('runs.columns_general'), columns: general },
    { title: t('runs.columns_summary'), columns: keys('summary') },
    { title: t('runs.columns_config'), columns: keys('config') },
  ]
}

/** Which columns are shown; the order is that of choosing. */
export function ColumnPicker({ runs, columns, onChange }: PickerProps): ReactElement {
  const [search, setSearch] = useState('')
  const groups = useMemo(() => groupsOf(runs), [runs])
  const needle = search.toLowerCase()
  const toggle = (id: ColumnId, on: boolean): void =>
    onChange(on ? [...columns, id] : columns.filter((column) => column !== id))
  return (
    <Popover label={t('runs.columns')} icon="columns">
      <SearchField label={t('runs.columns_search')} value={search} onChange={setSearch} />
      <div className="picker">
        {groups.map((group) => {
          const shown = group.columns.filter((column) =>
            column.title.toLowerCase().includes(needle),
          )
          if (shown.length === 0) return null
          return (
            <fieldset key={group.title}>
              <legend>{group.title}</legend>
              {shown.slice(0, 200).map((column) => (
                <label key={column.id} className="check">
                  <input
                    type="checkbox"
                    checked={columns.includes(column.id)}
                    onChange={(event) => toggle(column.id, event.target.checked)}
                  />
                  <span>{column.title}</span>
                </label>
              ))}
            </fieldset>
          )
        })}
      </div>
      <Button kind="quiet" icon="reset" onClick={() => onChange(null)}>
        {t('runs.columns_reset')}
      </Button>
    </Popover>
  )
}
