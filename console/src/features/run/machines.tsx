import { type ReactElement, type ReactNode, type SyntheticEvent, useMemo, useState } from 'react'
import type { RunDetail } from '../../api/client'
import { formatBytes } from '../../base/format'
import { t } from '../../base/i18n'
import { Card, KeyValues, ValueRows } from '../../widgets/facts'
import {
  gpusOf,
  gpusText,
  type Host,
  type HostGroup,
  hostGroups,
  type Machine,
  machineFacts,
  rangesText,
  ranksOf,
} from './hosts'

const SIZES = /bytes$|^memory|_memory/

function gpuText(gpu: Machine): string {
  const { name, memory_bytes: bytes, uuid } = gpu
  return [name, typeof bytes === 'number' && formatBytes(bytes), uuid].filter(Boolean).join(', ')
}

function machineRows(machine: Machine): Machine {
  const rows: Machine = {}
  for (const [key, value] of Object.entries(machine)) {
    if (key === 'gpus') {
      rows[key] = Object.fromEntries(gpusOf(machine).map((gpu, i) => [i, gpuText(gpu)]))
      continue
    }
    const isSize = SIZES.test(key) && typeof value === 'number' && value > 1 << 20
    rows[key] = isSize ? formatBytes(value) : value
  }
  return rows
}

const hostName = (host: Host): string => host.host || t('run.host_unnamed')

const rankText = (hosts: readonly Host[]): string => {
  const ranks = ranksOf(hosts)
  return ranks.length > 0 ? t('run.rank_list', { n: ranks.length, ranks: rangesText(ranks) }) : ''
}

/** Opens to what is inside, which is made only then: there may be a thousand. */
function Opening(props: {
  title: ReactNode
  note: string
  children: () => ReactNode
}): ReactElement {
  const [open, setOpen] = useState(false)
  const onToggle = (event: SyntheticEvent<HTMLDetailsElement>): void =>
    setOpen(event.currentTarget.open)
  return (
    <details className="machine" onToggle={onToggle}>
      <summary>
        <span className="machine-title">{props.title}</span>
        {props.note && <span className="muted machine-note">{props.note}</span>}
      </summary>
      {open && <div className="machine-body">{props.children()}</div>}
    </details>
  )
}

function HostDetails({ host }: { host: Host }): ReactElement {
  if (!host.machine) return <p className="muted">{t('run.machine_unknown')}</p>
  return <ValueRows value={machineRows(host.machine)} />
}

function factsText({ hosts, machine }: HostGroup): string {
  const facts = machineFacts(machine)
  return [
    rankText(hosts),
    facts.threads > 0 && t('run.cpus', { n: facts.threads }),
    facts.memoryBytes > 0 && formatBytes(facts.memoryBytes),
    facts.driver && t('run.driver', { version: facts.driver }),
    facts.cuda && `CUDA ${facts.cuda}`,
  ]
    .filter(Boolean)
    .join(' · ')
}

function Group({ group }: { group: HostGroup }): ReactElement {
  const { hosts, machine } = group
  const [first] = hosts
  const what = machine ? gpusText(machine) || t('run.no_gpu') : t('run.machine_unknown')
  if (first && hosts.length === 1) {
    return (
      <Opening
        title={
          <>
            <span className="mono">{hostName(first)}</span>: {what}
          </>
        }
        note={factsText(group)}
      >
        {() => <HostDetails host={first} />}
      </Opening>
    )
  }
  return (
    <Opening title={t('run.hosts_each', { n: hosts.length, what })} note={factsText(group)}>
      {() =>
        hosts.map((host) => (
          <Opening
            key={host.host}
            title={<span className="mono">{hostName(host)}</span>}
            note={rankText([host])}
          >
            {() => <HostDetails host={host} />}
          </Opening>
        ))
      }
    </Opening>
  )
}

/** What the run ran on: one machine whole, several as a list of kinds. */
export function Machines({ run }: { run: RunDetail }): ReactElement {
  const groups = useMemo(() => hostGroups(run.machines as Host[]), [run.machines])
  if (run.host_count < 2) {
    return (
      <KeyValues
        title={t('run.machine')}
        value={machineRows((run.machine ?? {}) as Machine)}
        empty={t('run.machine_empty')}
        searchLabel={t('run.search_config')}
      />
    )
  }
  const more = run.host_count - run.machines.length
  return (
    <Card title={t('run.machines', { n: run.host_count })}>
      {groups.map((group) => (
        <Group key={group.key} group={group} />
      ))}
      {more > 0 && <p className="muted">{t('run.hosts_more', { n: more })}</p>}
    </Card>
  )
}
