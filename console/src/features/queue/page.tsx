import type { ReactElement, ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { Job, Target } from '../../api/client'
import { useAgents, useJobs, useProjects, useServer, useTargets } from '../../api/queries'
import { formatAgo, formatInteger, formatMoney, formatTime } from '../../base/format'
import { t } from '../../base/i18n'
import { Command, Empty, Shown } from '../../widgets/empty'
import { endingText } from '../../widgets/ending'
import { Select } from '../../widgets/field'
import { useTitle, useViewParam } from '../../widgets/hooks'
import { JobTime, jobEnded } from '../../widgets/job'
import { useRows } from '../../widgets/rows'
import { StateBadge } from '../../widgets/state'
import { waitingText } from '../../widgets/waiting'

const WAITING = ['held', 'queued', 'offered']

interface RowProps {
  job: Job
  current: boolean
  currency: string
  kind: 'waiting' | 'running' | 'ended'
}

function NameCell({ job }: { job: Job }): ReactElement {
  return (
    <th scope="row">
      <Link href={`/jobs/${job.id}`} className="row-link">
        {job.name || job.id}
      </Link>
    </th>
  )
}

function Row({ job, current, currency, kind }: RowProps): ReactElement {
  const last = job.attempts[job.attempts.length - 1]
  return (
    <tr className={current ? 'row-current' : undefined} data-job={job.id}>
      {kind === 'waiting' && <td className="num muted">{job.waiting?.rank ?? ''}</td>}
      <NameCell job={job} />
      <td>
        <StateBadge state={job.state} title={endingText(job) || undefined} />
      </td>
      {kind === 'waiting' && (
        <td className="cell-wrap">{job.waiting ? waitingText(job.waiting) : ''}</td>
      )}
      <td>
        <Link href={`/p/${job.project}/runs`}>{job.project}</Link>
      </td>
      <td>{job.owner}</td>
      {kind !== 'waiting' && <td>{last ? `${last.target} / ${last.agent}` : ''}</td>}
      {kind === 'ended' ? (
        <td title={job.ended_at ? formatTime(job.ended_at) : undefined}>
          {formatAgo(job.ended_at)}
        </td>
      ) : (
        <td title={formatTime(job.created_at)}>{formatAgo(job.created_at)}</td>
      )}
      {kind !== 'waiting' && (
        <>
          <td className="num">
            <JobTime job={job} />
          </td>
          <td className="num">{formatMoney(job.cost_micro, currency)}</td>
        </>
      )}
    </tr>
  )
}

interface SectionProps {
  title: string
  none: string
  kind: RowProps['kind']
  jobs: Job[]
  from: number // of the first row in the whole page, for j and k
  current: number
  currency: string
}

function heads(kind: RowProps['kind']): [string, boolean][] {
  const common: [string, boolean][] = [
    [t('queue.column_job'), false],
    [t('queue.column_state'), false],
  ]
  const who: [string, boolean][] = [
    [t('queue.column_project'), false],
    [t('queue.column_owner'), false],
  ]
  if (kind === 'waiting') {
    return [
      [t('queue.column_rank'), true],
      ...common,
      [t('queue.column_why'), false],
      ...who,
      [t('queue.column_age'), false],
    ]
  }
  return [
    ...common,
    ...who,
    [t('queue.column_target'), false],
    [kind === 'ended' ? t('queue.column_ended') : t('queue.column_age'), false],
    [t('queue.column_time'), true],
    [t('queue.column_cost'), true],
  ]
}

function Section(props: SectionProps): ReactElement {
  return (
    <section className="queue-section" aria-label={props.title}>
      <h2>
        {props.title} <span className="section-count">{formatInteger(props.jobs.length)}</span>
      </h2>
      {props.jobs.length === 0 ? (
        <p className="empty-hint">{props.none}</p>
      ) : (
        <div className="table-scroll">
          <table className="table table-rows">
            <thead>
              <tr>
                {heads(props.kind).map(([text, num]) => (
                  <th key={text} scope="col" className={num ? 'num' : undefined}>
                    {text}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {props.jobs.map((job, i) => (
                <Row
                  key={job.id}
                  job={job}
                  kind={props.kind}
                  current={props.from + i === props.current}
                  currency={props.currency}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

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

function sections(jobs: Job[]): { waiting: Job[]; running: Job[]; ended: Job[] } {
  const waiting = jobs.filter((job) => WAITING.includes(job.state))
  const ended = jobs.filter(jobEnded)
  const running = jobs.filter((job) => !WAITING.includes(job.state) && !jobEnded(job))
  const rank = (job: Job): number => job.waiting?.rank ?? Number.MAX_SAFE_INTEGER
  waiting.sort((a, b) => rank(a) - rank(b))
  ended.sort((a, b) => (b.ended_at ?? '').localeCompare(a.ended_at ?? ''))
  return { waiting, running, ended }
}

export function QueuePage(): ReactElement {
  const [project, setProject] = useViewParam('project', '')
  const jobs = useJobs(project)
  const projects = useProjects()
  const targets = useTargets()
  const agents = useAgents()
  const server = useServer()
  const [, navigate] = useLocation()
  useTitle(t('queue.title'))
  const { waiting, running, ended } = sections(jobs.data ?? [])
  const all = [...waiting, ...running, ...ended]
  const current = useRows(all.length, (at) => {
    const job = all[at]
    if (job) navigate(`/jobs/${job.id}`)
  })
  const common = { current, currency: server.data?.currency ?? 'EUR' }
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('queue.title')}</h1>
        <span className="spring" />
        <Select
          label={t('queue.column_project')}
          value={project}
          onChange={setProject}
          choices={[
            { value: '', label: t('queue.all_projects') },
            ...(projects.data ?? []).map((one) => ({
              value: one.name,
              label: one.title || one.name,
            })),
          ]}
        />
      </header>
      {targets.data && targets.data.length > 0 && <Capacity targets={targets.data} />}
      {agents.data?.length === 0 && <NoAgent />}
      <Shown asked={jobs}>
        {(found) =>
          found.length === 0 ? (
            <Empty text={t('queue.empty')}>
              <Command
                text={`euvyra launch --project ${project || 'demo'} --wait -- python train.py`}
              />
            </Empty>
          ) : (
            <>
              <Section
                {...common}
                kind="waiting"
                title={t('queue.waiting')}
                none={t('queue.nothing_waits')}
                jobs={waiting}
                from={0}
              />
              <Section
                {...common}
                kind="running"
                title={t('queue.running')}
                none={t('queue.nothing_runs')}
                jobs={running}
                from={waiting.length}
              />
              <Section
                {...common}
                kind="ended"
                title={t('queue.ended')}
                none={t('queue.nothing_ended')}
                jobs={ended}
                from={waiting.length + running.length}
              />
            </>
          )
        }
      </Shown>
    </div>
  )
}
