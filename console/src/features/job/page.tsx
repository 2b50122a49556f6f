import { useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { Link } from 'wouter'
import { ask, client, type Job } from '../../api/client'
import { useJob, useJobEvents, useServer, useTargets } from '../../api/queries'
import { formatMoney } from '../../base/format'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'
import { Confirm } from '../../widgets/dialog'
import { Shown } from '../../widgets/empty'
import { endingText } from '../../widgets/ending'
import { useTitle } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { Attempts, JobFacts, JobSpec, JobTime, jobEnded, Timeline } from '../../widgets/job'
import { LogView } from '../../widgets/log/view'
import { StateBadge } from '../../widgets/state'

function Head({ job, currency }: { job: Job; currency: string }): ReactElement {
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const cancel = async (): Promise<void> => {
    await ask(client.POST('/api/v1/jobs/{job}/cancel', { params: { path: { job: job.id } } }))
    await queries.invalidateQueries({ queryKey: ['job', job.id] })
    void queries.invalidateQueries({ queryKey: ['jobs'] })
  }
  return (
    <header className="page-head thing-head">
      <h1 title={job.name}>{job.name || job.id}</h1>
      <StateBadge state={job.state} title={endingText(job) || undefined} />
      <span className="thing-fact">
        <Icon name="clock" />
        <span className="visually-hidden">{t('job.run_time')}</span>
        <JobTime job={job} />
      </span>
      <span className="thing-fact num" title={t('job.cost')}>
        {formatMoney(job.cost_micro, currency)}
      </span>
      <span className="spring" />
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

export function JobPage({ job: id }: { job: string }): ReactElement {
  const job = useJob(id)
  const events = useJobEvents(id)
  const server = useServer()
  const targets = useTargets()
  const currency = server.data?.currency ?? 'EUR'
  useTitle(job.data?.name ?? id)
  return (
    <div className="page">
      <Shown asked={job} whole>
        {(found) => (
          <>
            <Head job={found} currency={currency} />
            <div className="overview">
              <div className="overview-column">
                <Timeline job={found} events={events.data ?? []} />
                <Attempts job={found} currency={currency} />
              </div>
              <div className="overview-column">
                <JobFacts job={found} currency={currency} targets={targets.data ?? []} />
                <JobSpec job={found} />
              </div>
            </div>
            <section className="job-log" aria-label={t('job.log')}>
              <LogView run={found.run} />
            </section>
          </>
        )}
      </Shown>
    </div>
  )
}
