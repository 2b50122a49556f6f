import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { ApiError, ask, client, type Project } from '../../api/client'
import { useProjects, useServer } from '../../api/queries'
import { formatAgo, formatInteger, formatMoney, formatTime } from '../../base/format'
import { t, tName } from '../../base/i18n'
import { Button, IconButton } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Command, Empty, Shown } from '../../widgets/empty'
import { Field, SearchField } from '../../widgets/field'
import { useShortcuts, useTitle, useViewParam } from '../../widgets/hooks'
import { useRows } from '../../widgets/rows'
import { ProjectSettings } from './settings'

function NewProject({ open, onClose }: { open: boolean; onClose: () => void }): ReactElement {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [title, setTitle] = useState('')
  const [failure, setFailure] = useState('')
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    try {
      const params = { path: { project: name } }
      await ask(client.PUT('/api/v1/projects/{project}', { params, body: title ? { title } : {} }))
      await queries.invalidateQueries({ queryKey: ['projects'] })
      onClose()
      navigate(`/p/${name}/runs`)
    } catch (error) {
      setFailure(error instanceof ApiError && error.message ? error.message : t('error.unexpected'))
    }
  }
  return (
    <Dialog title={t('projects.new')} open={open} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field
          label={t('projects.name')}
          hint={t('projects.name_form')}
          error={failure || undefined}
          value={name}
          pattern="[a-z0-9]([\-a-z0-9]{0,61}[a-z0-9])?"
          onChange={(event) => setName(event.target.value.toLowerCase().replace(/[ _]/g, '-'))}
          required
          spellCheck={false}
        />
        <Field
          label={t('projects.title_field')}
          value={title}
          maxLength={200}
          onChange={(event) => setTitle(event.target.value)}
        />
        <div className="dialog-actions">
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="main" type="submit" disabled={!name}>
            {t('common.create')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Row({
  project,
  currency,
  current,
  onSettings,
}: {
  project: Project
  currency: string
  current: boolean
  onSettings: () => void
}): ReactElement {
  return (
    <tr className={current ? 'row-current' : undefined}>
      <th scope="row">
        <Link href={`/p/${project.name}/runs`} className="row-link">
          {project.title || project.name}
        </Link>
        {project.title && project.title !== project.name && (
          <span className="muted row-sub">{project.name}</span>
        )}
        {project.description && <div className="muted row-note">{project.description}</div>}
      </th>
      <td className="num">
        {project.running_count > 0 ? (
          <span className="state state-active">
            <span className="state-dot" aria-hidden="true" />
            {formatInteger(project.running_count)}
          </span>
        ) : (
          <span className="muted">–</span>
        )}
      </td>
      <td className="num">{formatInteger(project.run_count)}</td>
      <td title={project.last_run_at ? formatTime(project.last_run_at) : undefined}>
        {formatAgo(project.last_run_at)}
      </td>
      <td className="num">{formatMoney(project.cost_micro, currency)}</td>
      <td>{tName('role', project.role)}</td>
      <td>
        {(project.role === 'owner' || project.role === 'admin') && (
          <IconButton
            icon="pen"
            label={t('projects.settings', { name: project.name })}
            onClick={onSettings}
          />
        )}
      </td>
    </tr>
  )
}

export function ProjectsPage(): ReactElement {
  const projects = useProjects()
  const server = useServer()
  const [, navigate] = useLocation()
  const [search, setSearch] = useViewParam('q', '')
  const [creating, setCreating] = useState(false)
  const [changing, setChanging] = useState<Project | null>(null)
  useTitle(t('projects.title'))
  const needle = search.toLowerCase()
  const shown = (projects.data ?? [])
    .filter((project) => `${project.name} ${project.title}`.toLowerCase().includes(needle))
    .sort((a, b) => (b.last_run_at ?? b.created_at).localeCompare(a.last_run_at ?? a.created_at))
  const current = useRows(shown.length, (at) => {
    const project = shown[at]
    if (project) navigate(`/p/${project.name}/runs`)
  })
  useShortcuts({ n: () => setCreating(true) })
  const address = location.origin
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('projects.title')}</h1>
        <span className="spring" />
        <SearchField
          label={t('common.search')}
          value={search}
          onChange={setSearch}
          data-filter=""
        />
        <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
          {t('projects.new')}
        </Button>
      </header>
      <Shown asked={projects}>
        {(all) =>
          all.length === 0 ? (
            <Empty text={t('projects.empty')} hint={t('projects.empty_hint')}>
              <Command
                text={[
                  `euvyra login --server ${address}`,
                  'euvyra launch --project demo --wait -- python train.py',
                ].join('\n')}
              />
            </Empty>
          ) : (
            <div className="table-scroll">
              <table className="table table-rows">
                <thead>
                  <tr>
                    <th scope="col">{t('common.name')}</th>
                    <th scope="col" className="num">
                      {t('projects.column_running')}
                    </th>
                    <th scope="col" className="num">
                      {t('projects.column_runs')}
                    </th>
                    <th scope="col">{t('projects.column_last')}</th>
                    <th scope="col" className="num">
                      {t('projects.column_cost')}
                    </th>
                    <th scope="col">{t('projects.column_role')}</th>
                    <td />
                  </tr>
                </thead>
                <tbody>
                  {shown.map((project, i) => (
                    <Row
                      key={project.name}
                      project={project}
                      currency={server.data?.currency ?? 'EUR'}
                      current={i === current}
                      onSettings={() => setChanging(project)}
                    />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
      {changing && (
        <ProjectSettings key={changing.name} project={changing} onClose={() => setChanging(null)} />
      )}
      <NewProject open={creating} onClose={() => setCreating(false)} />
    </div>
  )
}
