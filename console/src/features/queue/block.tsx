// One queue: what it is, what waits and runs in it, and for administrators what holds it.
import { useQueryClient } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { ask, client, type Job, type Queue } from '../../api/client'
import { formatInteger } from '../../base/format'
import { t } from '../../base/i18n'
import { useAction } from '../../widgets/action'
import { countRunning, countWaiting } from '../../widgets/array'
import { Button } from '../../widgets/button'
import { JobsTable } from './rows'

/** Jobs of one queue; `queue` is missing where only its name is known. */
export interface Block {
  name: string
  queue: Queue | undefined
  waiting: Job[]
  running: Job[]
}

function Tools({ queue }: { queue: Queue }): ReactElement {
  const queries = useQueryClient()
  const { busy, failure, run } = useAction()
  const params = { path: { queue: queue.name } }
  const change = (what: () => Promise<unknown>) => () =>
    void run(async () => {
      await what()
      await queries.invalidateQueries({ queryKey: ['queues'] })
      void queries.invalidateQueries({ queryKey: ['jobs'] })
    })
  const hold = change(() => ask(client.POST('/api/v1/queues/{queue}/hold', { params })))
  const drain = change(() => ask(client.POST('/api/v1/queues/{queue}/drain', { params })))
  const resume = change(() => ask(client.POST('/api/v1/queues/{queue}/resume', { params })))
  return (
    <span className="queue-tools">
      {failure && (
        <span className="form-error" role="alert">
          {failure}
        </span>
      )}
      {(queue.held || queue.draining) && (
        <Button onClick={resume} disabled={busy} title={t('queue.resume_hint')}>
          {t('queue.resume')}
        </Button>
      )}
      {!queue.held && (
        <Button onClick={hold} disabled={busy} title={t('queue.hold_hint')}>
          {t('queue.hold')}
        </Button>
      )}
      {!queue.draining && (
        <Button onClick={drain} disabled={busy} title={t('queue.drain_hint')}>
          {t('queue.drain')}
        </Button>
      )}
    </span>
  )
}

interface BlockProps {
  block: Block
  current: string
  currency: string
  queues: Queue[]
  admin: boolean
  more: boolean // not all of its jobs are here
}

const sum = (jobs: Job[], count: (job: Job) => number): string =>
  formatInteger(jobs.reduce((n, job) => n + count(job), 0))

export function QueueBlock(props: BlockProps): ReactElement {
  const { block, queues, currency, current } = props
  const { queue, waiting, running } = block
  const title = t('queue.name', { name: block.name })
  const common = { queues, currency, current }
  const all = [...waiting, ...running]
  const counts = { waiting: sum(all, countWaiting), running: sum(all, countRunning) }
  return (
    <section className="queue-section" aria-label={title} data-queue={block.name}>
      <header className="queue-head">
        <h2>{title}</h2>
        <span className="muted">
          {props.more && queue
            ? t('queue.open', { n: queue.open_jobs })
            : t('queue.counts', counts)}
        </span>
        {queue && queue.priority !== 0 && (
          <span className="muted">{t('queue.priority', { n: queue.priority })}</span>
        )}
        {queue?.held && <span className="tag tag-held">{t('queue.held')}</span>}
        {queue?.draining && <span className="tag tag-held">{t('queue.draining')}</span>}
        <span className="spring" />
        {queue && props.admin && <Tools queue={queue} />}
      </header>
      {waiting.length + running.length === 0 && (
        <p className="empty-hint">{t('queue.empty_queue')}</p>
      )}
      {waiting.length > 0 && (
        <>
          <h3>{t('queue.waiting')}</h3>
          <JobsTable {...common} kind="waiting" label={t('queue.waiting')} jobs={waiting} />
        </>
      )}
      {running.length > 0 && (
        <>
          <h3>{t('queue.running')}</h3>
          <JobsTable {...common} kind="running" label={t('queue.running')} jobs={running} />
        </>
      )}
    </section>
  )
}
