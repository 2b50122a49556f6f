import { useQueryClient } from '@tanstack/react-query'
import { lazy, type ReactElement, type ReactNode, Suspense, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { ask, client } from '../api/client'
import { liveState } from '../api/live'
import { useJob, useMe, useProjects, useRun } from '../api/queries'
import { cutMiddle } from '../base/format'
import { currentLanguage, type Key, LANGUAGES, type Language, t } from '../base/i18n'
import { type Theme, theme, themeUse } from '../base/theme'
import { IconButton } from '../widgets/button'
import { useShortcuts } from '../widgets/hooks'
import { Icon, type IconName } from '../widgets/icon'
import { Logo } from '../widgets/logo'
import { Menu } from '../widgets/menu'
import { languageUse } from './language'
import { useWatched } from './watched'

const Palette = lazy(async () => ({ default: (await import('./palette')).Palette }))
const ShortcutList = lazy(async () => ({ default: (await import('./shortcuts')).ShortcutList }))

const RAIL: { href: string; icon: IconName; label: Key; owns: RegExp }[] = [
  { href: '/', icon: 'projects', label: 'nav.projects', owns: /^\/($|p\/)/ },
  { href: '/queue', icon: 'queue', label: 'nav.queue', owns: /^\/(queue|jobs|launch)/ },
  { href: '/clusters', icon: 'clusters', label: 'nav.clusters', owns: /^\/clusters/ },
  { href: '/agents', icon: 'agents', label: 'nav.agents', owns: /^\/agents/ },
]

function LiveDot(): ReactElement {
  const state = useWatched(liveState)
  return (
    <span className={`live live-${state}`} role="status" title={t(`live.${state}_hint`)}>
      <span className="live-dot" aria-hidden="true" />
      <span className="live-word">{t(`live.${state}`)}</span>
    </span>
  )
}

function UserMenu({ onKeys }: { onKeys: () => void }): ReactElement {
  const queries = useQueryClient()
  const me = useMe()
  const [, navigate] = useLocation()
  const chosen = useWatched(theme)
  const signOut = async (): Promise<void> => {
    await ask(client.DELETE('/api/v1/sessions/current'))
    queries.clear()
    location.assign('/')
  }
  const login = me.data?.login ?? ''
  return (
    <Menu
      label={t('user.menu')}
      side="top"
      triggerClass="rail-user"
      trigger={
        <>
          <span className="avatar" aria-hidden="true">
            {login.slice(0, 1).toUpperCase()}
          </span>
          <span className="rail-word">{login}</span>
        </>
      }
    >
      {({ MenuChoices, MenuItem, MenuLine, MenuTitle }) => (
        <>
          <MenuTitle>
            {t('user.signed_in_as', { login })}
            {me.data?.admin && ` · ${t('user.administrator')}`}
          </MenuTitle>
          <MenuItem icon="key" onSelect={() => navigate('/keys')}>
            {t('user.access_keys')}
          </MenuItem>
          <MenuItem onSelect={onKeys}>{t('user.keyboard')}</MenuItem>
          <MenuLine />
          <MenuChoices<Theme>
            label={t('user.theme')}
            value={chosen}
            onChange={themeUse}
            choices={[
              { value: 'system', label: t('user.theme_system') },
              { value: 'light', label: t('user.theme_light') },
              { value: 'dark', label: t('user.theme_dark') },
            ]}
          />
          <MenuLine />
          <MenuChoices<Language>
            label={t('user.language')}
            value={currentLanguage()}
            onChange={(next) => void languageUse(next)}
            choices={LANGUAGES.map(({ id, name }) => ({ value: id, label: name }))}
          />
          <MenuLine />
          <MenuItem onSelect={() => void signOut()}>{t('user.sign_out')}</MenuItem>
        </>
      )}
    </Menu>
  )
}

function Rail({ path, onKeys }: { path: string; onKeys: () => void }): ReactElement {
  return (
    <nav className="rail" aria-label={t('nav.main')}>
      <Link href="/" className="rail-brand" aria-label={t('app.name')}>
        <Logo size={22} />
        <span className="rail-word">{t('app.name')}</span>
      </Link>
      {RAIL.map((item) => (
        <Link
          key={item.href}
          href={item.href}
          className="rail-item"
          title={t(item.label)}
          aria-current={item.owns.test(path) ? 'page' : undefined}
        >
          <Icon name={item.icon} />
          <span className="rail-word">{t(item.label)}</span>
        </Link>
      ))}
      <span className="spring" />
      <LiveDot />
      <UserMenu onKeys={onKeys} />
    </nav>
  )
}

function ProjectSwitch({ project }: { project: string }): ReactElement {
  const projects = useProjects()
  const [, navigate] = useLocation()
  return (
    <Menu
      label={t('nav.switch_project')}
      triggerClass="crumb crumb-switch"
      trigger={
        <>
          {project}
          <Icon name="down" size={12} />
        </>
      }
    >
      {({ MenuItem, MenuLine }) => (
        <>
          {(projects.data ?? []).slice(0, 50).map((one) => (
            <MenuItem
              key={one.name}
              {...(one.name === project ? { icon: 'check' as const } : {})}
              onSelect={() => navigate(`/p/${one.name}/runs`)}
            >
              {one.title || one.name}
            </MenuItem>
          ))}
          <MenuLine />
          <MenuItem onSelect={() => navigate('/')}>{t('nav.all_projects')}</MenuItem>
        </>
      )}
    </Menu>
  )
}

function RunCrumb({ run }: { run: string }): ReactElement {
  const asked = useRun(run)
  return (
    <span className="crumb crumb-last" aria-current="page">
      {cutMiddle(asked.data?.name ?? run, 48)}
    </span>
  )
}

function JobCrumbs({ job }: { job: string }): ReactElement {
  const asked = useJob(job)
  return (
    <>
      <li>
        <Link href="/queue" className="crumb">
          {t('nav.queue')}
        </Link>
      </li>
      <li>
        <span className="crumb crumb-last" aria-current="page">
          {cutMiddle(asked.data?.name || job, 48)}
        </span>
      </li>
    </>
  )
}

function Crumbs({ path }: { path: string }): ReactElement {
  const inProject = /^\/p\/([^/]+)(?:\/r\/([^/]+))?/.exec(path)
  const inJob = /^\/jobs\/([^/]+)/.exec(path)
  const page = RAIL.find((item) => item.owns.test(path))
  const project = inProject?.[1]
  const run = inProject?.[2]
  const quota = /^\/p\/[^/]+\/quota$/.test(path)
  return (
    <nav className="crumbs" aria-label={t('nav.path')}>
      <ol>
        {project && (
          <>
            <li>
              <Link href="/" className="crumb">
                {t('nav.projects')}
              </Link>
            </li>
            <li>
              <ProjectSwitch project={project} />
            </li>
            <li>
              <Link
                href={`/p/${project}/runs`}
                className="crumb"
                aria-current={run || quota ? undefined : 'page'}
              >
                {t('nav.runs')}
              </Link>
            </li>
            {!run && (
              <li className="crumb-beside">
                <Link
                  href={`/p/${project}/quota`}
                  className="crumb"
                  aria-current={quota ? 'page' : undefined}
                >
                  {t('nav.quota')}
                </Link>
              </li>
            )}
            {run && (
              <li>
                <RunCrumb run={run} />
              </li>
            )}
          </>
        )}
        {inJob?.[1] && <JobCrumbs job={inJob[1]} />}
        {!project && !inJob && (
          <li>
            <span className="crumb crumb-last" aria-current="page">
              {path === '/keys'
                ? t('nav.keys')
                : path === '/launch'
                  ? t('nav.launch')
                  : page
                    ? t(page.label)
                    : ''}
            </span>
          </li>
        )}
      </ol>
    </nav>
  )
}

/** One level out: from a run to its project, from a project to all. */
function outOf(path: string): string {
  const run = /^(\/p\/[^/]+)\/r\//.exec(path)
  if (run) return `${run[1]}/runs`
  const quota = /^(\/p\/[^/]+)\/quota$/.exec(path)
  if (quota) return `${quota[1]}/runs`
  if (path.startsWith('/jobs/') || path === '/launch') return '/queue'
  return '/'
}

export function Frame({ children }: { children: ReactNode }): ReactElement {
  const [path, navigate] = useLocation()
  const [palette, setPalette] = useState(false)
  const [list, setList] = useState(false)
  const project = /^\/p\/([^/]+)/.exec(path)?.[1]
  useShortcuts({
    'Ctrl+k': () => setPalette(true),
    '?': () => setList(true),
    '/': () => document.querySelector<HTMLInputElement>('[data-filter]')?.focus(),
    'g p': () => navigate('/'),
    'g q': () => navigate('/queue'),
    'g c': () => navigate('/clusters'),
    'g a': () => navigate('/agents'),
    'g l': () => navigate(project ? `/launch?project=${project}` : '/launch'),
    'g b': () => project && navigate(`/p/${project}/quota`),
    'g r': () => project && navigate(`/p/${project}/runs`),
    c: () => void navigator.clipboard.writeText(location.href),
    Escape: () => path !== '/' && navigate(outOf(path)),
  })
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {t('nav.skip')}
      </a>
      <Rail path={path} onKeys={() => setList(true)} />
      <div className="frame-main">
        <div className="topbar">
          <Crumbs path={path} />
          <span className="spring" />
          <button type="button" className="topbar-search" onClick={() => setPalette(true)}>
            <Icon name="search" />
            <span>{t('common.search')}</span>
            <kbd>Ctrl K</kbd>
          </button>
          <IconButton icon="help" label={t('user.keyboard')} onClick={() => setList(true)} />
        </div>
        <main id="content" className="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Suspense fallback={null}>
        {palette && <Palette project={project ?? ''} onClose={() => setPalette(false)} />}
        {list && <ShortcutList open onClose={() => setList(false)} />}
      </Suspense>
    </div>
  )
}
