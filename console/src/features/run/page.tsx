import { lazy, type ReactElement, Suspense } from 'react'
import { Link } from 'wouter'
import type { RunDetail } from '../../api/client'
import { useJob, useJobEvents, useRun, useServer, useTargets } from '../../api/queries'
import { coloursFor } from '../../base/colours'
import { t } from '../../base/i18n'
import { Command, Empty, Loading, Shown } from '../../widgets/empty'
import { useDark, useTitle } from '../../widgets/hooks'
import { JobFacts, Timeline, Why } from '../../widgets/job'
import { LogView } from '../../widgets/log/view'
import { Tabs } from '../../widgets/tabs'
import { RunHeader, RunVerdict } from './header'
import { Overview } from './overview'
import { RUN_TABS, type RunTab } from './tabs'

const RunCharts = lazy(async () => ({ default: (await import('./charts')).RunCharts }))

function RunJob({ run, currency }: { run: RunDetail; currency: string }): ReactElement {
  const id = run.job ?? ''
  const job = useJob(id)
  const events = useJobEvents(id)
  const targets = useTargets()
  if (!id) {
    return (
      <Empty text={t('run.no_job')} hint={t('run.no_job_hint')}>
        <Command text={`euvyra launch --project ${run.project} --wait -- python train.py`} />
      </Empty>
    )
  }
  return (
    <Shown asked={job}>
      {(found) => (
        <div className="overview">
          <div className="overview-column">
            <Why job={found} currency={currency} />
            <Timeline events={events.data ?? []} />
          </div>
          <div className="overview-column">
            <JobFacts job={found} currency={currency} targets={targets.data ?? []} />
            <Link href={`/jobs/${id}`} className="button button-plain">
              {t('nav.job')} <span className="mono">{id}</span>
            </Link>
          </div>
        </div>
      )}
    </Shown>
  )
}

function TabBody(props: { run: RunDetail; tab: RunTab; currency: string }): ReactElement {
  switch (props.tab) {
    case 'overview':
      return <Overview run={props.run} currency={props.currency} />
    case 'charts':
      return <RunCharts run={props.run} kind="metric" />
    case 'system':
      return <RunCharts run={props.run} kind="system" />
    case 'log':
      return <LogView run={props.run.id} />
    case 'job':
      return <RunJob run={props.run} currency={props.currency} />
  }
}

export function RunPage(props: { project: string; run: string; tab: RunTab }): ReactElement {
  const run = useRun(props.run)
  const server = useServer()
  const dark = useDark()
  const colour = coloursFor([props.run], dark).get(props.run) ?? ''
  const currency = server.data?.currency ?? 'EUR'
  useTitle(run.data?.name ?? props.run)
  const base = `/p/${props.project}/r/${props.run}`
  const tabs = RUN_TABS.map((id) => ({ id, label: t(`run.tab_${id}`), href: `${base}/${id}` }))
  return (
    <div className={`page ${props.tab === 'log' ? 'page-fixed' : ''}`}>
      <Shown asked={run} whole>
        {(found) => (
          <>
            <RunHeader run={found} currency={currency} colour={colour} />
            <RunVerdict run={found} currency={currency} />
            <Tabs label={found.name} tabs={tabs} current={props.tab} />
            <Suspense fallback={<Loading />}>
              <TabBody key={props.tab} run={found} tab={props.tab} currency={currency} />
            </Suspense>
          </>
        )}
      </Shown>
    </div>
  )
}
