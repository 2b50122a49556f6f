import type { ReactElement } from 'react'
import type { Agent, Target } from '../../api/client'
import { useAgents, useServer, useTargets } from '../../api/queries'
import { formatAgo, formatBytes, formatInteger, formatMoney, formatTime } from '../../base/format'
import { t } from '../../base/i18n'
import { Command, Empty, Shown } from '../../widgets/empty'
import { useTitle } from '../../widgets/hooks'
import { StateBadge } from '../../widgets/state'
import './agents.css'

function Heads({ names }: { names: [string, boolean][] }): ReactElement {
  return (
    <thead>
      <tr>
        {names.map(([name, num]) => (
          <th key={name} scope="col" className={num ? 'num' : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function AgentRow({ agent }: { agent: Agent }): ReactElement {
  return (
    <tr>
      <th scope="row">{agent.name}</th>
      <td>
        <StateBadge state={agent.state} />
        {agent.maintenance && (
          <span className="muted agent-note">
            {t('node.draining', { reason: agent.maintenance.reason })}
          </span>
        )}
        {agent.state === 'conflict' && (
          <span className="muted agent-note">{t('agents.conflict', { name: agent.name })}</span>
        )}
      </td>
      <td>{agent.target}</td>
      <td className="num">
        {formatInteger(agent.running ?? 0)} / {formatInteger(agent.slots ?? 0)}
      </td>
      <td className="num">{formatInteger(agent.cpus ?? 0)}</td>
      <td className="num">{formatBytes(agent.memory_bytes ?? 0)}</td>
      <td className="num">{formatInteger(agent.gpus ?? 0)}</td>
      <td>{agent.version ?? ''}</td>
      <td title={agent.last_seen_at ? formatTime(agent.last_seen_at) : undefined}>
        {formatAgo(agent.last_seen_at)}
      </td>
    </tr>
  )
}

function Agents({ agents }: { agents: Agent[] }): ReactElement {
  // What is ill comes first.
  const order = ['conflict', 'unreachable', 'online', 'new']
  const sorted = [...agents].sort(
    (a, b) => order.indexOf(a.state) - order.indexOf(b.state) || a.name.localeCompare(b.name),
  )
  return (
    <div className="table-scroll">
      <table className="table table-rows">
        <Heads
          names={[
            [t('agents.column_agent'), false],
            [t('agents.column_state'), false],
            [t('agents.column_target'), false],
            [t('agents.column_slots'), true],
            [t('agents.column_cpus'), true],
            [t('agents.column_memory'), true],
            [t('agents.column_gpus'), true],
            [t('agents.column_version'), false],
            [t('agents.column_seen'), false],
          ]}
        />
        <tbody>
          {sorted.map((agent) => (
            <AgentRow key={agent.id} agent={agent} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Targets({ targets, currency }: { targets: Target[]; currency: string }): ReactElement {
  return (
    <section className="queue-section" aria-label={t('agents.targets')}>
      <h2>{t('agents.targets')}</h2>
      <div className="table-scroll">
        <table className="table table-rows">
          <Heads
            names={[
              [t('agents.column_target'), false],
              [t('agents.column_agents'), true],
              [t('agents.column_free'), true],
              [t('agents.column_price'), true],
              [t('agents.column_gpu_price'), true],
            ]}
          />
          <tbody>
            {targets.map((target) => (
              <tr key={target.name}>
                <th scope="row">{target.name}</th>
                <td className="num">{formatInteger(target.agent_count)}</td>
                <td className="num">
                  {formatInteger(target.cpus_free)} / {formatInteger(target.cpus_total)}
                </td>
                <td className="num">{formatMoney(target.price_hour_micro, currency)}</td>
                <td className="num">{formatMoney(target.price_gpu_hour_micro, currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

export function AgentsPage(): ReactElement {
  const agents = useAgents()
  const targets = useTargets()
  const server = useServer()
  useTitle(t('agents.title'))
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('agents.title')}</h1>
      </header>
      <Shown asked={agents}>
        {(found) =>
          found.length === 0 ? (
            <Empty text={t('agents.empty')} hint={t('agents.empty_hint')}>
              <Command
                text={[
                  'euvyra agents add rack1 --target default > agent.key',
                  `euvyra-agent --server ${location.origin} --key-file agent.key --name rack1 \\`,
                  '    --target default --dir /var/lib/euvyra-agent',
                ].join('\n')}
              />
            </Empty>
          ) : (
            <Agents agents={found} />
          )
        }
      </Shown>
      {targets.data && targets.data.length > 0 && (
        <Targets targets={targets.data} currency={server.data?.currency ?? 'EUR'} />
      )}
    </div>
  )
}
