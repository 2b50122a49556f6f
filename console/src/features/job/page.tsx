import { useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { Link } from 'wouter'
import { ask, client, type Job } from '../../api/client'
import {
  useAgents,
  useJob,
  useJobEvents,
  useQueues,
  useServer,
  useShares,
  useTargets,
  useWhy,
} from '../../api/queries'
import { formatMoney } from '../../base/format'
import { t } from '../../base/i18n'
import { useAction } from '../../widgets/action'
import { gpuHours } from '../../widgets/amount'
import { Button } from '../../widgets/button'
import { Confirm } from '../../widgets/dialog'
import { Shown } from '../../widgets/empty'
import { endingText } from '../../widgets/ending'
import { HealthBadge } from '../../widgets/health'
import { useTitle } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { JobFacts, JobSpec, JobTime, jobEnded, Timeline, Why } from '../../widgets/job'
import { LogView } from '../../widgets/log/view'
import { sharesAbove } from '../../widgets/shares'
import { StateBadge } from '../../widgets/state'
import { Attempts, Targets } from './attempts'
import { ChangeJob } from './change'

function Head({ job, currency }: { job: Job; currency: string }): ReactElement {
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const [changing, setChanging] = useState(false)
  const { busy, failure, run } = useAction()
  const params = { path: { job: job.id } }
  const refresh = async (): Promise<void> => {
    void queries.invalidateQueries({ queryKey: ['jobs'] })
    void queries.invalidateQueries({ queryKey: ['why', job.id] })
    await queries.invalidateQueries({ queryKey: ['job', job.id] })
  }
  const cancel = async (): Promise<void> => {
    await ask(client.POST('/api/v1/jobs/{job}/cancel', { params }))
    await refresh()
  }
  const hold = async (): Promise<void> => {
    await ask(client.PATCH('/api/v1/jobs/{job}', { params, body: { held: true } }))
    await refresh()
  }
  const release = async (): Promise<void> => {
    await ask(client.POST('/api/v1/jobs/{job}/release', { params }))
    await refresh()
  }
  return (
    <header className="page-head thing-head">
      <h1 title={job.name}>{job.name || job.id}</h1>
      <StateBadge state={job.state} title={endingText(job) || undefined} />
      <HealthBadge job={job} />
      <span className="thing-fact">
        <Icon name="clock" />
        <span className="visually-hidden">{t('job.run_time')}</span>
        <JobTime job={job} />
      </span>
      <span className="thing-fact num" title={t('job.cost')}>
        {formatMoney(job.cost_micro, currency)}
      </span>
      {(job.gpu_ms ?? 0) > 0 && (
        <span className="thing-fact num">
          {t('amount.gpu_hours', { n: gpuHours(job.gpu_ms ?? 0) })}
        </span>
      )}
      <span className="spring" />
      {failure && (
        <span className="form-error" role="alert">
          {failure}
        </span>
      )}
      {job.state === 'held' && (
        <Button kind="main" onClick={() => void run(release)} disabled={busy}>
          {t('job.release')}
        </Button>
      )}
      {job.state === 'queued' && (
        <Button onClick={() => void run(hold)} disabled={busy}>
          {t('job.hold')}
        </Button>
      )}
      {!jobEnded(job) && (
        <Button icon="pen" onClick={() => setChanging(true)}>
          {t('job.change')}
        </Button>
      )}
      {jobEnded(job) && (
        <Link href={`/launch?from=${job.run}`} className="button button-plain">
          <Icon name="reset" />
          {t('job.again')}
        </Link>
      )}
      <Link href={`/p/${job.project}/r/${job.run}/charts`} className="button button-plain">
        <Icon name="chart" />
        {t('job.open_run')}
      </Link>
      {!jobEnded(job) && (
        <Button
          kind="danger"
          icon="stop"
          onClick={() => setAsking(true)}
          disabled={job.state === 'stopping'}
        >
          {t('job.cancel')}
        </Button>
      )}
      {changing && <ChangeJob job={job} onClose={() => setChanging(false)} onChanged={refresh} />}
      <Confirm
        title={t('job.cancel')}
        text={t('job.cancel_sure', { name: job.name || job.id })}
        action={t('job.cancel')}
        keep={t('job.keep')}
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={cancel}
      />
    </header>
  )
}

const WAITING = ['held', 'queued', 'offered']

export function JobPage({ job: id }: { job: string }): ReactElement {
  const job = useJob(id)
  const waits = job.data !== undefined && WAITING.includes(job.data.state)
  const why = useWhy(id, waits)
  const events = useJobEvents(id)
  const targets = useTargets().data ?? []
  const agents = useAgents().data ?? []
  const queues = useQueues().data ?? []
  const shares = useShares().data ?? []
  const currency = useServer().data?.currency ?? 'EUR'
  useTitle(job.data?.name ?? id)
  return (
    <div className="page">
      <Shown asked={job} whole>
        {(asked) => {
          // The newest word of why it waits, where it still does.
          const found = waits && why.data ? { ...asked, waiting: why.data.waiting } : asked
          return (
            <>
              <Head job={found} currency={currency} />
              <div className="overview">
                <div className="overview-column">
                  <Why job={found} currency={currency} />
                  <Timeline events={events.data ?? []} />
                  <Attempts job={found} currency={currency} />
                </div>
                <div className="overview-column">
                  <JobFacts job={found} currency={currency} targets={targets} />
                  <Targets
                    job={found}
                    targets={targets}
                    agents={agents}
                    queue={queues.find((queue) => queue.name === found.queue)}
                    shares={sharesAbove(shares, found.project)}
                  />
                  <JobSpec job={found} />
                </div>
              </div>
              <section className="job-log" aria-label={t('job.log')}>
                <LogView run={found.run} />
              </section>
            </>
          )
        }}
      </Shown>
    </div>
  )
}
