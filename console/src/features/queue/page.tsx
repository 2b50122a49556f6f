import { type ReactElement, type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Job, Queue, Share, Target } from '../../api/client'
import {
  useAgents,
  useJobs,
  useMe,
  useProjects,
  useQueues,
  useServer,
  useShares,
  useTargets,
} from '../../api/queries'
import { formatInteger } from '../../base/format'
import { t } from '../../base/i18n'
import { countWaiting, lineEnded, lineId } from '../../widgets/array'
import { Command, Empty, Shown } from '../../widgets/empty'
import { Card } from '../../widgets/facts'
import { Select } from '../../widgets/field'
import { useShortcuts, useTitle, useViewParam } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { useRows } from '../../widgets/rows'
import {
  resourceText,
  SHARE_RESOURCES,
  type ShareResource,
  ShareTree,
  sharesAbove,
} from '../../widgets/shares'
import { type Block, QueueBlock } from './block'
import { JobsTable } from './rows'

function Meter({ name, free, total }: { name: string; free: number; total: number }): ReactElement {
  return (
    <div className="meter">
      <span>{name}</span>
      <meter min={0} max={Math.max(1, total)} value={total - free} aria-label={name} />
    </div>
  )
}

function Capacity({ targets }: { targets: Target[] }): ReactElement {
  return (
    <ul className="capacity" aria-label={t('queue.capacity')}>
      {targets.map((target) => (
        <li key={target.name}>
          <strong>{target.name}</strong>
          <Meter
            name={t('queue.cpus_free', { free: target.cpus_free, total: target.cpus_total })}
            free={target.cpus_free}
            total={target.cpus_total}
          />
          {(target.gpus_total ?? 0) > 0 && (
            <Meter
              name={t('queue.gpus_free', {
                free: target.gpus_free ?? 0,
                total: target.gpus_total ?? 0,
              })}
              free={target.gpus_free ?? 0}
              total={target.gpus_total ?? 0}
            />
          )}
          {target.maintenance && (
            <span className="muted">
              {t('fit.maintenance', { reason: target.maintenance.reason })}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function NoAgent(): ReactNode {
  return (
    <div className="notice">
      <p>{t('queue.no_agent')}</p>
      <Command
        text={[
          `euvyra-agent --server ${location.origin} --key-file agent.key --name $(hostname) \\`,
          '    --target default --dir /var/lib/euvyra-agent',
        ].join('\n')}
      />
    </div>
  )
}

/** The resource that people share here: GPUs, unless there are none. */
const firstResource = (targets: Target[]): ShareResource =>
  targets.some((target) => (target.gpus_total ?? 0) > 0) ? 'gpus' : 'cpus'

function Shares({ shares, targets }: { shares: Share[]; targets: Target[] }): ReactElement {
  const [chosen, setChosen] = useState<ShareResource | null>(null)
  const resource = chosen ?? firstResource(targets)
  return (
    <Card
      title={t('shares.title')}
      tools={
        <Select
          label={t('shares.resource')}
          value={resource}
          onChange={setChosen}
          choices={SHARE_RESOURCES.map((one) => ({ value: one, label: resourceText(one) }))}
        />
      }
    >
      <ShareTree shares={shares} resource={resource} />
    </Card>
  )
}

/** The queues by priority, then name, each with its jobs; queues nobody told us of at the end. */
export function blocksOf(jobs: Job[], queues: Queue[], only: string): Block[] {
  const blocks = new Map<string, Block>()
  const sorted = [...queues].sort((a, b) => b.priority - a.priority || a.name.localeCompare(b.name))
  for (const queue of sorted) {
    blocks.set(queue.name, { name: queue.name, queue, waiting: [], running: [] })
  }
  for (const job of jobs) {
    if (lineEnded(job)) continue
    const name = job.queue ?? 'default'
    const block = blocks.get(name) ?? { name, queue: undefined, waiting: [], running: [] }
    blocks.set(name, block)
    block[countWaiting(job) > 0 ? 'waiting' : 'running'].push(job)
  }
  const rank = (job: Job): number => job.waiting?.rank ?? Number.MAX_SAFE_INTEGER
  for (const block of blocks.values()) block.waiting.sort((a, b) => rank(a) - rank(b))
  return [...blocks.values()].filter((block) => !only || block.name === only)
}

function endedOf(jobs: Job[], only: string): Job[] {
  return jobs
    .filter((job) => lineEnded(job) && (!only || (job.queue ?? 'default') === only))
    .sort((a, b) => (b.ended_at ?? '').localeCompare(a.ended_at ?? ''))
}

interface FilterProps {
  label: string
  all: string
  value: string
  onChange: (value: string) => void
  choices: { value: string; label: string }[]
}

function Filter({ all, choices, ...rest }: FilterProps): ReactElement {
  return <Select {...rest} choices={[{ value: '', label: all }, ...choices]} />
}

export function QueuePage(): ReactElement {
  const [project, setProject] = useViewParam('project', '')
  const [only, setOnly] = useViewParam('queue', '')
  const jobs = useJobs(project)
  const queues = useQueues().data ?? []
  const projects = useProjects()
  const targets = useTargets()
  const shares = useShares()
  const agents = useAgents()
  const admin = useMe().data?.admin === true
  const currency = useServer().data?.currency ?? 'EUR'
  const [, navigate] = useLocation()
  useTitle(t('queue.title'))
  const found = jobs.data?.items ?? []
  const blocks = blocksOf(found, queues, only)
  const ended = endedOf(found, only)
  const all = [...blocks.flatMap((block) => [...block.waiting, ...block.running]), ...ended]
  const at = useRows(all.length, (row) => {
    const job = all[row]
    if (job) navigate(`/jobs/${lineId(job)}`)
  })
  const current = all[at]?.id ?? ''
  const launch = project ? `/launch?project=${project}` : '/launch'
  useShortcuts({ n: () => navigate(launch) })
  const shown = project ? sharesAbove(shares.data ?? [], project).reverse() : (shares.data ?? [])
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('queue.title')}</h1>
        <span className="spring" />
        <Filter
          label={t('queue.column_project')}
          all={t('queue.all_projects')}
          value={project}
          onChange={setProject}
          choices={(projects.data ?? []).map((one) => ({
            value: one.name,
            label: one.title || one.name,
          }))}
        />
        <Filter
          label={t('queue.column_queue')}
          all={t('queue.all_queues')}
          value={only}
          onChange={setOnly}
          choices={queues.map((one) => ({ value: one.name, label: one.name }))}
        />
        <Link href={launch} className="button button-main">
          <Icon name="plus" />
          {t('queue.launch')}
        </Link>
      </header>
      {targets.data && targets.data.length > 0 && <Capacity targets={targets.data} />}
      {agents.data?.length === 0 && <NoAgent />}
      {shown.length > 0 && targets.data && (
        <div className="queue-section">
          <Shares shares={shown} targets={targets.data} />
        </div>
      )}
      <Shown asked={jobs}>
        {({ items, more }) =>
          items.length === 0 && queues.length < 2 ? (
            <Empty text={t('queue.empty')}>
              <Command
                text={`euvyra launch --project ${project || 'demo'} --wait -- python train.py`}
              />
            </Empty>
          ) : (
            <>
              {more && (
                <p className="notice queue-section">
                  {t('queue.more', { n: items.filter((job) => !lineEnded(job)).length })}
                </p>
              )}
              {blocks.map((block) => (
                <QueueBlock
                  key={block.name}
                  block={block}
                  queues={queues}
                  current={current}
                  currency={currency}
                  admin={admin}
                  more={more}
                />
              ))}
              <section className="queue-section" aria-label={t('queue.ended')}>
                <h2>
                  {t('queue.ended')}{' '}
                  <span className="section-count">{formatInteger(ended.length)}</span>
                </h2>
                {ended.length === 0 ? (
                  <p className="empty-hint">{t('queue.nothing_ended')}</p>
                ) : (
                  <JobsTable
                    kind="ended"
                    label={t('queue.ended')}
                    jobs={ended}
                    current={current}
                    currency={currency}
                    queues={queues}
                  />
                )}
              </section>
            </>
          )
        }
      </Shown>
    </div>
  )
}
