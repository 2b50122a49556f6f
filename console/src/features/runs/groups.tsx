import { type ReactElement, type ReactNode, useMemo } from 'react'
import { type RunsFind, useRunGroups } from '../../api/queries'
import { formatTime, formatValue } from '../../base/format'
import { t, tName } from '../../base/i18n'
import { Failure, Loading } from '../../widgets/empty'
import { Icon } from '../../widgets/icon'
import { keyLabel } from './picker'

interface GroupsProps {
  project: string
  find: RunsFind
  by: string[]
  open: string // the filter of the group that is open
  onOpen: (filter: string) => void
  children: (filter: string) => ReactNode // the rows of a group
}

function valueText(key: string, value: unknown): string {
  if (value === null) return t('runs.group_none')
  if (key === 'state') return tName('state', String(value))
  if (['created', 'started', 'ended'].includes(key)) return formatTime(Number(value))
  return formatValue(value)
}

/** Runs by the values of a few keys: how many there are of each; one group is open at a time. */
export function Groups(props: GroupsProps): ReactElement | null {
  const asked = useRunGroups(props.project, props.find, props.by)
  const names = useMemo(() => props.by.map(keyLabel), [props.by])
  if (asked.error) return <Failure error={asked.error} onRetry={() => void asked.refetch()} />
  if (!asked.data) return <Loading />
  const { items, group_count: count } = asked.data
  return (
    <div className="groups">
      {items.map((group) => {
        const isOpen = group.filter === props.open
        return (
          <section key={group.filter}>
            <h2>
              <button
                type="button"
                className="group-head"
                aria-expanded={isOpen}
                onClick={() => props.onOpen(isOpen ? '' : group.filter)}
              >
                <Icon name={isOpen ? 'down' : 'right'} size={12} />
                {group.values.map((value, i) => (
                  <span key={props.by[i]}>
                    <span className="muted">{names[i]}</span>{' '}
                    {valueText(props.by[i] as string, value)}
                  </span>
                ))}
                <span className="muted">{t('runs.count', { n: group.count })}</span>
              </button>
            </h2>
            {isOpen && props.children(group.filter)}
          </section>
        )
      })}
      {count > items.length && (
        <p className="muted">{t('runs.groups_more', { n: count - items.length })}</p>
      )}
    </div>
  )
}
