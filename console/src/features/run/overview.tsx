import { useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { ask, client, type RunDetail } from '../../api/client'
import { useAlerts, useMetrics, useWriters } from '../../api/queries'
import { formatInteger, formatMoney, formatTime } from '../../base/format'
import { t } from '../../base/i18n'
import { AlertList } from '../../widgets/alerts'
import { Button } from '../../widgets/button'
import { endingText } from '../../widgets/ending'
import { Card, Facts, KeyValues } from '../../widgets/facts'
import { SearchField } from '../../widgets/field'
import { figureText } from '../../widgets/figure'
import { Diff } from './diff'
import { Machines } from './machines'

type Loose = Record<string, unknown>

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''

/** The first of these names that holds something: recorders of other versions name things alike. */
function pick(object: Loose, ...names: string[]): unknown {
  for (const name of names)
    if (object[name] !== undefined && object[name] !== null) return object[name]
  return undefined
}

interface Package {
  name: string
  version: string
  source?: string // where it came from, when that was not an index
}

function packagesOf(code: Loose): Package[] {
  const value = pick(code, 'packages')
  if (Array.isArray(value)) {
    return value.map((item: unknown) => {
      if (typeof item === 'string') {
        const [name = item, version = ''] = item.split('==')
        return { name, version }
      }
      const object = (item ?? {}) as Loose
      return { name: text(object.name), version: text(object.version) }
    })
  }
  if (typeof value === 'object' && value !== null) {
    const sources = (code.package_sources ?? {}) as Loose
    return Object.entries(value).map(([name, version]) => ({
      name,
      version: text(version),
      source: text(sources[name]),
    }))
  }
  return []
}

function Packages({ packages }: { packages: Package[] }): ReactElement | null {
  const [search, setSearch] = useState('')
  if (packages.length === 0) return null
  const needle = search.toLowerCase()
  const shown = packages
    .filter((one) => one.name.toLowerCase().includes(needle))
    .sort((a, b) => a.name.localeCompare(b.name))
  return (
    <Card
      title={`${t('run.packages')} (${formatInteger(packages.length)})`}
      tools={<SearchField label={t('run.packages_search')} value={search} onChange={setSearch} />}
    >
      <ul className="packages">
        {shown.map((one) => (
          <li key={one.name} className="mono">
            {one.name} <span className="muted">{one.version}</span>
            {one.source && <span className="muted package-source">{one.source}</span>}
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Untracked({ code }: { code: Loose }): ReactElement | null {
  const names = Array.isArray(code.untracked) ? code.untracked.map(text) : []
  const count = typeof code.untracked_count === 'number' ? code.untracked_count : names.length
  if (count === 0) return null
  return (
    <details>
      <summary>{t('run.untracked', { n: count })}</summary>
      <ul className="mono">
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </details>
  )
}

function Code({ run, code }: { run: string; code: Loose | null }): ReactElement {
  if (!code) {
    return (
      <Card title={t('run.code')}>
        <p className="empty-hint">{t('run.code_empty')}</p>
      </Card>
    )
  }
  const git = (code.git ?? code) as Loose
  const commit = text(git.commit)
  const dirty = Boolean(pick(git, 'diff_sha256', 'dirty'))
  return (
    <Card title={t('run.code')}>
      <Facts
        items={[
          [
            t('run.commit'),
            commit && (
              <span className="mono" title={commit}>
                {commit.slice(0, 12)} {dirty && <span className="tag">{t('run.dirty')}</span>}
              </span>
            ),
          ],
          [t('run.branch'), text(git.branch)],
          [t('run.remote'), text(git.remote)],
          [t('run.python'), text(pick(code, 'python', 'python_version'))],
        ]}
      />
      {dirty && <Diff run={run} />}
      <Untracked code={code} />
    </Card>
  )
}

function Notes({ run }: { run: RunDetail }): ReactElement {
  const queries = useQueryClient()
  const [editing, setEditing] = useState(false)
  const [notes, setNotes] = useState(run.notes)
  const save = async (): Promise<void> => {
    const params = { path: { run: run.id } }
    await ask(client.PATCH('/api/v1/runs/{run}', { params, body: { notes } }))
    await queries.invalidateQueries({ queryKey: ['run', run.id] })
    setEditing(false)
  }
  if (!editing) {
    return (
      <div className="notes">
        {run.notes && <p>{run.notes}</p>}
        <Button
          kind="quiet"
          icon="pen"
          onClick={() => {
            setNotes(run.notes)
            setEditing(true)
          }}
        >
          {run.notes ? t('run.notes') : t('run.notes_empty')}
        </Button>
      </div>
    )
  }
  return (
    <div className="notes">
      <textarea
        className="input"
        aria-label={t('run.notes')}
        value={notes}
        maxLength={10_000}
        rows={4}
        onChange={(event) => setNotes(event.target.value)}
      />
      <div className="dialog-actions">
        <Button onClick={() => setEditing(false)}>{t('common.cancel')}</Button>
        <Button kind="main" onClick={() => void save()}>
          {t('common.save')}
        </Button>
      </div>
    </div>
  )
}

/** The run it branches from: what was inherited goes when that is deleted. */
function Parent({ run }: { run: RunDetail }): ReactElement | null {
  if (!run.parent) return null
  const step = t('run.parent_step', { n: run.parent_step ?? 0 })
  if (run.parent_exists === false) {
    return (
      <span>
        <span className="mono">{run.parent}</span> {step} ({t('run.parent_gone')})
      </span>
    )
  }
  return (
    <span>
      <Link href={`/p/${run.project}/r/${run.parent}`} className="mono">
        {run.parent}
      </Link>{' '}
      {step}
    </span>
  )
}

function Processes({ run }: { run: string }): ReactElement | null {
  const writers = useWriters(run).data ?? []
  const ranks = writers.filter((one) => one.rank !== null && one.kind === 'trainer')
  if (ranks.length < 2) return null
  const hosts = new Set(ranks.map((one) => one.host))
  const text = t('run.ranks', { n: ranks.length })
  return <span>{hosts.size > 1 ? `${text}, ${t('run.hosts', { n: hosts.size })}` : text}</span>
}

function Alerts({ run }: { run: RunDetail }): ReactElement | null {
  const alerts = useAlerts({ run: run.id })
  if (!alerts.data || alerts.data.length === 0) return null
  return (
    <Card title={t('alerts.title')}>
      <AlertList project={run.project} alerts={alerts.data} names={false} />
    </Card>
  )
}

/** What the values of metrics with a definition are; not where the script set the summary itself. */
function useSummaryNotes(run: RunDetail): ReadonlyMap<string, string> {
  const defined = (run.definitions ?? []).length > 0
  const metrics = useMetrics(defined ? [run.id] : [], 'metric')
  return useMemo(() => {
    const notes = new Map<string, string>()
    const summary = run.summary as Loose
    for (const metric of metrics.data ?? []) {
      const { summary: figure, goal } = metric
      if (figure === 'none' || (figure === 'last' && !goal)) continue
      if (summary[metric.name] !== metric[figure]) continue
      const step = figure === 'mean' ? null : (metric[`${figure}_step`] ?? null)
      notes.set(metric.name, figureText({ figure, step, goal }))
    }
    return notes
  }, [metrics.data, run.summary])
}

export function Overview({ run, currency }: { run: RunDetail; currency: string }): ReactElement {
  const code = run.code as Loose | null
  const packages = useMemo(() => packagesOf(code ?? {}), [code])
  const notes = useSummaryNotes(run)
  return (
    <div className="overview">
      <div className="overview-column">
        <Alerts run={run} />
        <KeyValues
          title={t('run.summary')}
          value={run.summary}
          empty={t('run.summary_empty')}
          searchLabel={t('run.search_config')}
          notes={notes}
        />
        <KeyValues
          title={t('run.config')}
          value={run.config}
          empty={t('run.config_empty')}
          searchLabel={t('run.search_config')}
        />
        <Notes run={run} />
      </div>
      <div className="overview-column">
        <Card title={t('run.tab_overview')}>
          <Facts
            items={[
              [
                t('run.id'),
                <span key="id" className="mono">
                  {run.id}
                </span>,
              ],
              [t('run.owner'), run.owner],
              [t('run.started'), run.started_at && formatTime(run.started_at)],
              [t('run.ended'), run.ended_at && formatTime(run.ended_at)],
              [t('runs.column_state'), endingText(run)],
              [t('run.host'), run.host],
              [t('run.parent'), run.parent && <Parent key="parent" run={run} />],
              [t('run.processes'), <Processes key="processes" run={run.id} />],
              [t('run.redacted'), run.redacted ? formatInteger(run.redacted) : ''],
              [t('run.group'), run.group],
              [t('run.job_type'), run.job_type],
              [t('run.cost'), run.cost_micro === null ? '' : formatMoney(run.cost_micro, currency)],
              [
                t('nav.job'),
                run.job && (
                  <Link href={`/jobs/${run.job}`} className="mono">
                    {run.job}
                  </Link>
                ),
              ],
              [
                t('run.command'),
                run.command.length > 0 && <code className="mono">{run.command.join(' ')}</code>,
              ],
            ]}
          />
        </Card>
        <Code run={run.id} code={code} />
        <Machines run={run} />
        <Packages packages={packages} />
        {(run.unknown_records ?? 0) > 0 && (
          <p className="muted">{t('run.unknown_records', { n: run.unknown_records ?? 0 })}</p>
        )}
      </div>
    </div>
  )
}
