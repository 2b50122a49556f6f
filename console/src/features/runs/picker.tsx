import { type ReactElement, useState } from 'react'
import type { RunColumn } from '../../api/client'
import { useRunColumns } from '../../api/queries'
import { formatInteger } from '../../base/format'
import { type Key, t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { SearchField } from '../../widgets/field'
import { useRested } from '../../widgets/hooks'
import { Popover } from '../../widgets/popover'
import { type ColumnId, GENERAL, isColumn, isGeneral, keyTitle } from './columns'

const GROUP_KEYS_MAX = 3
const GROUP_FIELDS = ['state', 'owner', 'host', 'group', 'job_type', 'git.branch']

interface Choice {
  id: string
  title: string
  note: string
}

/** The words for a key: fields of a run have a title, keys of users are their own. */
export function keyLabel(key: string): string {
  if (isGeneral(key)) return t(`runs.column_${key}` as Key)
  return isColumn(key) ? keyTitle(key) : key
}

function offerOf(column: RunColumn): Choice {
  const runs = `${formatInteger(column.runs)}${column.more ? '+' : ''}`
  const note =
    column.values === null
      ? t('runs.columns_metric', { runs })
      : t('runs.columns_offered', { runs, values: formatInteger(column.values) })
  return { id: column.key, title: keyTitle(column.key), note }
}

function choicesOf(columns: RunColumn[], kind: string): Choice[] {
  const byKey = new Map(columns.map((column) => [column.key, column]))
  return [...byKey.values()].filter((column) => column.key.startsWith(kind)).map(offerOf)
}

interface ListProps {
  title: string
  choices: Choice[]
  chosen: readonly string[]
  full: boolean // no more can be chosen
  onToggle: (id: string, on: boolean) => void
}

function ChoiceList({ title, choices, chosen, full, onToggle }: ListProps): ReactElement | null {
  if (choices.length === 0) return null
  return (
    <fieldset>
      <legend>{title}</legend>
      {choices.map((choice) => (
        <label key={choice.id} className="check">
          <input
            type="checkbox"
            checked={chosen.includes(choice.id)}
            disabled={full && !chosen.includes(choice.id)}
            onChange={(event) => onToggle(choice.id, event.target.checked)}
          />
          <span>{choice.title}</span>
          {choice.note && <span className="muted check-note">{choice.note}</span>}
        </label>
      ))}
    </fieldset>
  )
}

/** Keys are searched on the server: a project may have a million. */
function useOffered(project: string) {
  const [search, setSearch] = useState('')
  const asked = useRunColumns(project, useRested(search))
  const fields = (ids: readonly string[]): Choice[] =>
    ids
      .map((id) => ({ id, title: keyLabel(id), note: '' }))
      .filter((choice) => choice.title.toLowerCase().includes(search.toLowerCase()))
  return { search, setSearch, columns: asked.data ?? [], fields }
}

interface PickerProps {
  project: string
  columns: ColumnId[]
  onChange: (columns: ColumnId[] | null) => void
}

function Columns({ project, columns, onChange }: PickerProps): ReactElement {
  const offered = useOffered(project)
  const lists: [string, Choice[]][] = [
    [t('runs.columns_general'), offered.fields(GENERAL)],
    [t('runs.columns_summary'), choicesOf(offered.columns, 'summary.')],
    [t('runs.columns_config'), choicesOf(offered.columns, 'config.')],
  ]
  const toggle = (id: string, on: boolean): void => {
    if (!on) onChange(columns.filter((column) => column !== id))
    else if (isColumn(id)) onChange([...columns, id])
  }
  return (
    <>
      <SearchField
        label={t('runs.columns_search')}
        value={offered.search}
        onChange={offered.setSearch}
      />
      <div className="picker">
        {lists.map(([title, choices]) => (
          <ChoiceList
            key={title}
            title={title}
            choices={choices}
            chosen={columns}
            full={false}
            onToggle={toggle}
          />
        ))}
      </div>
      <Button kind="quiet" icon="reset" onClick={() => onChange(null)}>
        {t('runs.columns_reset')}
      </Button>
    </>
  )
}

/** Which columns are shown; the order is that of choosing. */
export function ColumnPicker(props: PickerProps): ReactElement {
  return (
    <Popover label={t('runs.columns')} icon="columns">
      <Columns {...props} />
    </Popover>
  )
}

interface GroupProps {
  project: string
  by: string[]
  onChange: (by: string[]) => void
}

function GroupKeys({ project, by, onChange }: GroupProps): ReactElement {
  const offered = useOffered(project)
  const toggle = (id: string, on: boolean): void =>
    onChange(on ? [...by, id] : by.filter((key) => key !== id))
  const list = (title: string, choices: Choice[]): ReactElement => (
    <ChoiceList
      title={title}
      choices={choices}
      chosen={by}
      full={by.length >= GROUP_KEYS_MAX}
      onToggle={toggle}
    />
  )
  return (
    <>
      <SearchField
        label={t('runs.group_search')}
        value={offered.search}
        onChange={offered.setSearch}
      />
      <p className="muted">{t('runs.group_hint')}</p>
      <div className="picker">
        {list(t('runs.columns_general'), offered.fields(GROUP_FIELDS))}
        {list(t('runs.columns_config'), choicesOf(offered.columns, 'config.'))}
      </div>
      <Button kind="quiet" icon="reset" onClick={() => onChange([])}>
        {t('runs.group_reset')}
      </Button>
    </>
  )
}

/** By which keys the runs are grouped, in the order of choosing. */
export function GroupPicker(props: GroupProps): ReactElement {
  return (
    <Popover label={t('runs.group')} icon="queue">
      <GroupKeys {...props} />
    </Popover>
  )
}
