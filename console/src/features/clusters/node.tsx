// One machine: its GPUs over time, what runs there, what it is.
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { MachineNode, NodeJob, Target } from '../../api/client'
import { type NodeRange, useMe, useNodeSamples } from '../../api/queries'
import { formatAgo, formatBytes, formatMoment, formatNumber } from '../../base/format'
import { t } from '../../base/i18n'
import { energyText } from '../../widgets/amount'
import { Segments } from '../../widgets/button'
import { Shown } from '../../widgets/empty'
import { Card, Facts } from '../../widgets/facts'
import { useTitle, useViewParam } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { StateBadge } from '../../widgets/state'
import { warningsOf } from './order'
import { GpuStrips, NodeStrips, TimeAxis } from './strips'
import { NodeTools } from './tools'

const RANGES: NodeRange[] = ['1h', '24h', '7d']
const isRange = (text: string): text is NodeRange => RANGES.some((range) => range === text)

export function Warnings({ node }: { node: MachineNode }): ReactElement | null {
  const warnings = warningsOf(node)
  if (warnings.length === 0) return null
  return (
    <ul className="node-warnings">
      {warnings.map((warning) => (
        <li key={warning.text} className={warning.grave ? 'grave' : undefined}>
          <Icon name={warning.icon} />
          <span>{warning.text}</span>
        </li>
      ))}
    </ul>
  )
}

function JobLine({ job }: { job: NodeJob }): ReactElement {
  return (
    <li className="node-job">
      <StateBadge state={job.state} />
      {job.job ? (
        <Link href={`/jobs/${job.job}`}>{job.name || job.job}</Link>
      ) : (
        <span className="muted">{t('node.job_other')}</span>
      )}
      {job.project && <span className="muted">{job.project}</span>}
      {job.gpus.length > 0 && <span className="num">GPU {job.gpus.join(', ')}</span>}
      {job.started_at && (
        <span className="muted">{t('node.job_since', { time: formatMoment(job.started_at) })}</span>
      )}
      {job.energy_mj > 0 && <span className="num muted">{energyText(job.energy_mj)}</span>}
      {job.idle_since && (
        <span className="node-idle">
          <Icon name="warning" /> {t('node.job_idle', { time: formatMoment(job.idle_since) })}
        </span>
      )}
    </li>
  )
}

function Jobs({ jobs }: { jobs: NodeJob[] }): ReactElement {
  return (
    <Card title={t('node.jobs')}>
      {jobs.length === 0 ? (
        <p className="empty-hint">{t('node.no_jobs')}</p>
      ) : (
        <ul className="node-jobs">
          {jobs.map((job) => (
            <JobLine key={`${job.job}${job.started_at}`} job={job} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function MachineFacts({ node }: { node: MachineNode }): ReactElement {
  const machine = node.machine ?? {}
  const reserve = machine.host_reserve_bytes ?? 0
  const threads = machine.cpu_threads ?? 0
  const processor = [machine.cpu_model, threads > 0 && t('node.threads', { n: threads })]
  const driver = [machine.driver, machine.cuda && `CUDA ${machine.cuda}`].filter(Boolean)
  return (
    <Card title={t('node.machine')}>
      <Facts
        items={[
          [t('node.os'), machine.os ?? ''],
          [t('node.cpu'), processor.filter(Boolean).join(', ')],
          [t('node.memory'), formatBytes(machine.memory_bytes || node.memory_bytes)],
          [t('node.reserve'), reserve > 0 ? formatBytes(reserve) : ''],
          [t('node.disk'), machine.disk_bytes ? formatBytes(machine.disk_bytes) : ''],
          [t('node.driver'), driver.join(', ')],
          [t('node.load'), node.now?.load == null ? '' : formatNumber(node.now.load, 3)],
          [t('node.version'), `${node.version} · ${node.executor}`],
          [t('node.column_seen'), formatAgo(node.last_seen_at)],
        ]}
      />
    </Card>
  )
}

export function NodeView(props: { node: MachineNode; target: Target | undefined }): ReactElement {
  const { node } = props
  const [asked, setRange] = useViewParam('range', '1h', 'push')
  const range = isRange(asked) ? asked : '1h'
  const samples = useNodeSamples(node.id, range)
  const admin = useMe().data?.admin === true
  useTitle(node.name)
  return (
    <div className="page">
      <header className="page-head thing-head">
        <Link href={`/clusters/${node.target}`} className="button button-plain">
          <Icon name="up" />
          {t('node.back', { name: node.target })}
        </Link>
        <h1>{node.name}</h1>
        <StateBadge state={node.state} />
        <span className="spring" />
        <Segments
          label={t('node.range')}
          value={range}
          choices={RANGES.map((one) => ({ value: one, label: t(`node.range_${one}`) }))}
          onChange={setRange}
        />
        {admin && <NodeTools node={node} target={props.target} />}
      </header>
      <Warnings node={node} />
      <div className="node-columns">
        <div className="node-charts">
          <Shown asked={samples}>
            {(read) => (
              <>
                {node.gpus.map((gpu) => (
                  <GpuStrips key={gpu.place} gpu={gpu} samples={read} />
                ))}
                <NodeStrips
                  samples={read}
                  memoryBytes={node.machine?.memory_bytes || node.memory_bytes}
                  diskBytes={node.machine?.disk_bytes ?? 0}
                  now={node.now}
                />
                <TimeAxis times={read} long={range !== '1h'} />
              </>
            )}
          </Shown>
        </div>
        <div className="node-side">
          <Jobs jobs={node.jobs} />
          <MachineFacts node={node} />
        </div>
      </div>
    </div>
  )
}
