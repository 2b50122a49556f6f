import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { ask, client, type RunDetail } from '../../api/client'
import { useJob } from '../../api/queries'
import { formatDuration, formatMoney } from '../../base/format'
import { t, tName } from '../../base/i18n'
import { Button, IconButton } from '../../widgets/button'
import { Cut } from '../../widgets/cut'
import { Confirm, Dialog } from '../../widgets/dialog'
import { endingText } from '../../widgets/ending'
import { Field } from '../../widgets/field'
import { useNow } from '../../widgets/hooks'
import { Icon } from '../../widgets/icon'
import { Menu } from '../../widgets/menu'
import { StateBadge } from '../../widgets/state'
import { waitingText } from '../../widgets/waiting'

type Change = { name?: string; tags?: string[] }

function useChange(run: RunDetail): (change: Change) => Promise<void> {
  const queries = useQueryClient()
  return async (body) => {
    await ask(client.PATCH('/api/v1/runs/{run}', { params: { path: { run: run.id } }, body }))
    await queries.invalidateQueries({ queryKey: ['run', run.id] })
    void queries.invalidateQueries({ queryKey: ['runs', run.project] })
  }
}

function TextDialog(props: {
  title: string
  label: string
  first: string
  max: number
  open: boolean
  onClose: () => void
  onSave: (text: string) => Promise<void>
}): ReactElement {
  const [text, setText] = useState(props.first)
  const [failure, setFailure] = useState('')
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    try {
      await props.onSave(text.trim())
      props.onClose()
    } catch (error) {
      setFailure(error instanceof Error && error.message ? error.message : t('error.unexpected'))
    }
  }
  return (
    <Dialog title={props.title} open={props.open} onClose={props.onClose}>
      <form className="form" onSubmit={submit}>
        <Field
          label={props.label}
          value={text}
          maxLength={props.max}
          error={failure || undefined}
          onChange={(event) => setText(event.target.value)}
          required
          autoFocus
        />
        <div className="dialog-actions">
          <Button onClick={props.onClose}>{t('common.cancel')}</Button>
          <Button kind="main" type="submit" disabled={!text.trim()}>
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Why a run ended badly or has not begun: said at the top, on every tab, with where to look. */
export function RunVerdict(props: { run: RunDetail; currency: string }): ReactElement | null {
  const { run, currency } = props
  const pending = run.state === 'pending'
  const job = useJob(pending ? (run.job ?? '') : '')
  const base = `/p/${run.project}/r/${run.id}`
  if (pending) {
    if (!run.job) return null
    const waiting = job.data?.waiting
    return (
      <p className="verdict">
        <span>{waiting ? waitingText(waiting, currency) : t('run.pending')}</span>
        <Link href={`/jobs/${run.job}`}>{t('run.see_job')}</Link>
      </p>
    )
  }
  if (!['failed', 'crashed', 'killed', 'preempted'].includes(run.state)) return null
  const bad = run.state === 'failed' || run.state === 'crashed'
  return (
    <p className={bad ? 'verdict verdict-bad' : 'verdict'}>
      <strong>{tName('state', run.state)}</strong>
      <span>{endingText(run) || (run.state === 'crashed' ? t('run.crashed') : '')}</span>
      <Link href={`${base}/log`}>{t('run.see_log')}</Link>
    </p>
  )
}

/** How long it ran, on while it runs: the server's number plus the time since it was read. */
export function Duration({ run }: { run: RunDetail }): ReactElement {
  const going = run.state === 'running'
  const now = useNow(going)
  const ms =
    going && run.started_at ? Math.max(0, now - Date.parse(run.started_at)) : run.duration_ms
  return <span className="num">{run.started_at ? formatDuration(ms) : '–'}</span>
}

export function RunHeader(props: {
  run: RunDetail
  currency: string
  colour: string
}): ReactElement {
  const { run, currency, colour } = props
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [dialog, setDialog] = useState<'rename' | 'tag' | 'delete' | 'stop' | null>(null)
  const change = useChange(run)
  const close = (): void => setDialog(null)
  const remove = async (): Promise<void> => {
    await ask(client.DELETE('/api/v1/runs/{run}', { params: { path: { run: run.id } } }))
    await queries.invalidateQueries({ queryKey: ['runs', run.project] })
    navigate(`/p/${run.project}/runs`)
  }
  const stop = async (): Promise<void> => {
    await ask(client.POST('/api/v1/runs/{run}/stop', { params: { path: { run: run.id } } }))
    await queries.invalidateQueries({ queryKey: ['run', run.id] })
  }
  return (
    <header className="page-head thing-head">
      <span className="swatch swatch-large" style={{ background: colour }} />
      <h1>
        <Cut text={run.name} />
      </h1>
      <StateBadge state={run.state} title={endingText(run) || undefined} />
      <span className="thing-fact">
        <Icon name="clock" />
        <span className="visually-hidden">{t('run.duration')}</span>
        <Duration run={run} />
      </span>
      {run.cost_micro !== null && run.cost_micro !== undefined && (
        <span className="thing-fact num" title={t('run.cost')}>
          {formatMoney(run.cost_micro, currency)}
        </span>
      )}
      <span className="tags">
        {run.tags.map((tag) => (
          <span key={tag} className="tag">
            {tag}
            <button
              type="button"
              className="tag-remove"
              aria-label={t('run.remove_tag', { tag })}
              onClick={() => void change({ tags: run.tags.filter((other) => other !== tag) })}
            >
              <Icon name="close" size={10} />
            </button>
          </span>
        ))}
        <IconButton icon="tag" label={t('run.add_tag')} onClick={() => setDialog('tag')} />
      </span>
      {run.stopping && <span className="tag">{t('run.stopping')}</span>}
      <span className="spring" />
      {run.state === 'running' && !run.stopping && (
        <Button icon="stop" onClick={() => setDialog('stop')}>
          {t('run.stop')}
        </Button>
      )}
      <Menu
        label={t('run.menu')}
        trigger={<Icon name="more" />}
        triggerClass="icon-button"
        iconOnly
        align="end"
      >
        {({ MenuItem, MenuLine }) => (
          <>
            <MenuItem icon="pen" onSelect={() => setDialog('rename')}>
              {t('run.rename')}
            </MenuItem>
            <MenuItem icon="copy" onSelect={() => void navigator.clipboard.writeText(run.id)}>
              {t('run.copy_id')}
            </MenuItem>
            <MenuItem
              icon="link"
              onSelect={() => void navigator.clipboard.writeText(location.href)}
            >
              {t('run.copy_link')}
            </MenuItem>
            <MenuLine />
            <MenuItem icon="trash" danger onSelect={() => setDialog('delete')}>
              {t('run.delete')}
            </MenuItem>
          </>
        )}
      </Menu>
      {dialog === 'rename' && (
        <TextDialog
          title={t('run.rename')}
          label={t('run.name')}
          first={run.name}
          max={200}
          open
          onClose={close}
          onSave={(name) => change({ name })}
        />
      )}
      {dialog === 'tag' && (
        <TextDialog
          title={t('run.add_tag')}
          label={t('run.tag')}
          first=""
          max={64}
          open
          onClose={close}
          onSave={(tag) => change({ tags: [...new Set([...run.tags, tag])] })}
        />
      )}
      <Confirm
        title={t('run.stop')}
        text={t('run.stop_sure', { name: run.name })}
        action={t('run.stop')}
        open={dialog === 'stop'}
        onClose={close}
        onConfirm={stop}
      />
      <Confirm
        title={t('run.delete')}
        text={t('run.delete_sure', { name: run.name })}
        action={t('common.delete')}
        open={dialog === 'delete'}
        onClose={close}
        onConfirm={remove}
      />
    </header>
  )
}
