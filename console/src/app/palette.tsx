import { type KeyboardEvent, type ReactElement, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useJobs, useProjects, useRuns } from '../api/queries'
import { type Key, t } from '../base/i18n'
import { Dialog } from '../widgets/dialog'
import { useRested } from '../widgets/hooks'

interface Entry {
  kind: Key
  title: string
  sub: string
  href: string
}

const SHOWN_MAX = 30

function useEntries(project: string, text: string): Entry[] {
  const projects = useProjects()
  const jobs = useJobs('')
  const rested = useRested(text, 200)
  const runs = useRuns(project || projects.data?.[0]?.name || '', { search: rested, state: '' })
  return useMemo(() => {
    const pages: Entry[] = [
      { kind: 'palette.page', title: t('nav.projects'), sub: '', href: '/' },
      { kind: 'palette.page', title: t('nav.queue'), sub: '', href: '/queue' },
      { kind: 'palette.page', title: t('launch.title'), sub: '', href: '/launch' },
      { kind: 'palette.page', title: t('nav.agents'), sub: '', href: '/agents' },
      { kind: 'palette.page', title: t('keys.title'), sub: '', href: '/keys' },
    ]
    const found: Entry[] = [...pages]
    if (project) {
      const href = `/p/${project}/quota`
      found.push({ kind: 'palette.page', title: t('nav.quota'), sub: project, href })
    }
    for (const one of projects.data ?? []) {
      const title = one.title || one.name
      found.push({ kind: 'palette.project', title, sub: one.name, href: `/p/${one.name}/runs` })
    }
    const needle = text.toLowerCase()
    const matches = found.filter((one) => `${one.title} ${one.sub}`.toLowerCase().includes(needle))
    for (const run of runs.data?.pages[0]?.items ?? []) {
      if (!`${run.name} ${run.id}`.toLowerCase().includes(needle)) continue
      const href = `/p/${run.project}/r/${run.id}/charts`
      matches.push({ kind: 'palette.run', title: run.name, sub: run.id, href })
    }
    for (const job of jobs.data?.items ?? []) {
      if (!needle || !`${job.name} ${job.id}`.toLowerCase().includes(needle)) continue
      matches.push({
        kind: 'palette.job',
        title: job.name || job.id,
        sub: job.id,
        href: `/jobs/${job.id}`,
      })
    }
    return matches.slice(0, SHOWN_MAX)
  }, [project, projects.data, runs.data, jobs.data, text])
}

/** Everything by name: half a run id is enough. */
export function Palette({
  project,
  onClose,
}: {
  project: string
  onClose: () => void
}): ReactElement {
  const [, navigate] = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const entries = useEntries(project, text)
  const current = Math.min(at, entries.length - 1)
  const open = (entry: Entry | undefined): void => {
    if (!entry) return
    onClose()
    navigate(entry.href)
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(entries.length - 1, current + 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(0, current - 1))
    else if (event.key === 'Enter') open(entries[current])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title={t('palette.title')} open onClose={onClose} wide>
      <div className="palette">
        <input
          className="input"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={entries.length > 0 ? `palette-${current}` : undefined}
          aria-label={t('palette.placeholder')}
          placeholder={t('palette.placeholder')}
          value={text}
          autoFocus
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
          onKeyDown={onKey}
        />
        <div
          className="palette-list"
          id="palette-list"
          role="listbox"
          aria-label={t('palette.title')}
        >
          {entries.map((entry, i) => (
            <div
              key={entry.href}
              id={`palette-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === current}
              className="palette-item"
              onMouseMove={() => setAt(i)}
              onClick={() => open(entry)}
              onKeyDown={onKey}
            >
              <span className="palette-kind">{t(entry.kind)}</span>
              <span className="palette-title">{entry.title}</span>
              <span className="muted mono">{entry.sub}</span>
            </div>
          ))}
        </div>
        {entries.length === 0 && <p className="empty-hint">{t('palette.nothing')}</p>}
      </div>
    </Dialog>
  )
}
