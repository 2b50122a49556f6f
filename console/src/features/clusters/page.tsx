// Clusters: every target with what its GPUs do; one target with its machines, GPUs as squares.
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { MachineNode, NodeSums, Target } from '../../api/client'
import { type Nodes, useNodes, useTargets } from '../../api/queries'
import { formatAgo, formatBytes, formatInteger, formatTime } from '../../base/format'
import { t } from '../../base/i18n'
import { Command, Empty, Shown } from '../../widgets/empty'
import { useTitle, useViewParam } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { StateBadge } from '../../widgets/state'
import './clusters.css'
import { NodeView, Warnings } from './node'
import { inOrder, percentText } from './order'
import { Squares } from './squares'

function Attach({ target, text }: { target: string; text: string }): ReactElement {
  return (
    <Empty text={text} hint={t('clusters.empty_hint')}>
      <Command
        text={[
          `euvyra agents add rack1 --target ${target} > agent.key`,
          `euvyra-agent --server ${location.origin} --key-file agent.key --name rack1 \\`,
          `    --target ${target} --dir /var/lib/euvyra-agent`,
        ].join('\n')}
      />
    </Empty>
  )
}

function Sums({ sums }: { sums: NodeSums }): ReactElement {
  const figures: [string, string, boolean][] = [
    [t('clusters.gpus'), formatInteger(sums.gpus), false],
    [t('clusters.used'), formatInteger(sums.gpus_used), false],
    [t('clusters.idle'), formatInteger(sums.gpus_idle), false],
    [t('clusters.ill'), formatInteger(sums.gpus_ill), sums.gpus_ill > 0],
    [t('clusters.others'), formatInteger(sums.gpus_of_others), false],
    [
      t('clusters.utilization'),
      sums.utilization_percent === null
        ? t('clusters.unknown')
        : percentText(sums.utilization_percent),
      false,
    ],
  ]
  return (
    <dl className="sums">
      {figures.map(([name, value, grave]) => (
        <div key={name} className={grave ? 'sum grave' : 'sum'}>
          <dt>{name}</dt>
          <dd className="num">
            {grave && <Icon name="warning" />} {value}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Rests({ target }: { target: Target }): ReactElement | null {
  if (!target.maintenance) return null
  return (
    <p className="node-warnings">
      <Icon name="clock" /> {t('clusters.rests', { reason: target.maintenance.reason })}
    </p>
  )
}

function ClusterCard({ target }: { target: Target }): ReactElement {
  const nodes = useNodes(target.name)
  return (
    <section className="card" aria-label={target.name}>
      <header className="card-head">
        <h2>
          <Link
            href={`/clusters/${target.name}`}
            aria-label={t('clusters.open', { name: target.name })}
          >
            {target.name}
          </Link>
        </h2>
        <span className="muted">{t('clusters.machines', { n: target.agent_count })}</span>
      </header>
      <div className="card-body">
        <Rests target={target} />
        <Shown asked={nodes}>{(found) => <Sums sums={found.sums} />}</Shown>
      </div>
    </section>
  )
}

export function ClustersPage(): ReactElement {
  const targets = useTargets()
  useTitle(t('clusters.title'))
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('clusters.title')}</h1>
        <span className="spring" />
        <Link href="/agents" className="button button-plain">
          {t('clusters.agents')}
        </Link>
      </header>
      <Shown asked={targets}>
        {(found) =>
          found.length === 0 ? (
            <Attach target="default" text={t('clusters.empty')} />
          ) : (
            <div className="clusters">
              {found.map((target) => (
                <ClusterCard key={target.name} target={target} />
              ))}
            </div>
          )
        }
      </Shown>
    </div>
  )
}

function NodeRow({ node }: { node: MachineNode }): ReactElement {
  const { now } = node
  return (
    <tr>
      <th scope="row">
        <Link href={`/clusters/${node.target}?node=${node.name}`}>{node.name}</Link>
      </th>
      <td>
        <Squares gpus={node.gpus} of={t('node.column_gpus')} />
      </td>
      <td className="node-state">
        <StateBadge state={node.state} />
        <Warnings node={node} />
      </td>
      <td className="num">{percentText(now?.cpu_percent)}</td>
      <td className="num">
        {now?.memory_bytes == null ? '–' : formatBytes(now.memory_bytes)} /{' '}
        {formatBytes(node.machine?.memory_bytes || node.memory_bytes)}
      </td>
      <td className="num">{formatInteger(node.jobs.length)}</td>
      <td title={node.last_seen_at ? formatTime(node.last_seen_at) : undefined}>
        {formatAgo(node.last_seen_at)}
      </td>
    </tr>
  )
}

function NodeTable({ nodes }: { nodes: MachineNode[] }): ReactElement {
  const heads: [string, boolean][] = [
    [t('node.column_node'), false],
    [t('node.column_gpus'), false],
    [t('node.column_state'), false],
    [t('node.column_cpu'), true],
    [t('node.column_memory'), true],
    [t('node.column_jobs'), true],
    [t('node.column_seen'), false],
  ]
  return (
    <div className="table-scroll">
      <table className="table table-rows nodes-table">
        <thead>
          <tr>
            {heads.map(([name, num]) => (
              <th key={name} scope="col" className={num ? 'num' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {inOrder(nodes).map((node) => (
            <NodeRow key={node.id} node={node} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Cluster(props: { name: string; found: Nodes; target: Target | undefined }): ReactElement {
  const { name, found, target } = props
  useTitle(name)
  return (
    <div className="page">
      <header className="page-head">
        <Link href="/clusters" className="button button-plain">
          <Icon name="up" />
          {t('clusters.title')}
        </Link>
        <h1>{name}</h1>
        <span className="muted">{t('clusters.machines', { n: found.sums.nodes })}</span>
      </header>
      {target && <Rests target={target} />}
      <Sums sums={found.sums} />
      {found.items.length === 0 ? (
        <Attach target={name} text={t('clusters.empty_target')} />
      ) : (
        <NodeTable nodes={found.items} />
      )}
    </div>
  )
}

export function ClusterPage({ cluster }: { cluster: string }): ReactElement {
  const nodes = useNodes(cluster)
  const target = (useTargets().data ?? []).find((one) => one.name === cluster)
  const [name] = useViewParam('node', '')
  return (
    <Shown asked={nodes} whole>
      {(found) => {
        const node = found.items.find((one) => one.name === name)
        return node ? (
          <NodeView node={node} target={target} />
        ) : (
          <Cluster name={cluster} found={found} target={target} />
        )
      }}
    </Shown>
  )
}
