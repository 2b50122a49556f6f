// What a project may use: its own share and those above it, and the form that sets one.
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import { type Amounts, ApiError, ask, client, type Share, type ShareSet } from '../../api/client'
import { formatInteger } from '../../base/format'
import { t } from '../../base/i18n'
import { failureOf } from '../../widgets/action'
import { Button, IconButton } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Card } from '../../widgets/facts'
import { Choice, Field } from '../../widgets/field'
import {
  resourceText,
  SHARE_RESOURCES,
  ShareBar,
  ShareKey,
  type ShareResource,
  shareAmount,
  shareName,
} from '../../widgets/shares'

const LIMITS = ['quota', 'borrow', 'lend'] as const
const GIB = 2 ** 30

type Texts = Record<(typeof LIMITS)[number], Record<ShareResource, string>>

function textsOf(share: Share): Texts {
  const amounts = (have: Amounts): Record<ShareResource, string> => ({
    gpus: have.gpus === null ? '' : String(have.gpus),
    cpus: have.cpus === null ? '' : String(have.cpus),
    memory_bytes: have.memory_bytes === null ? '' : String(have.memory_bytes / GIB),
  })
  return {
    quota: amounts(share.quota),
    borrow: amounts(share.borrow),
    lend: amounts(share.lend),
  }
}

function amountsOf(texts: Record<ShareResource, string>): NonNullable<ShareSet['quota']> {
  return {
    ...(texts.gpus === '' ? {} : { gpus: Number(texts.gpus) }),
    ...(texts.cpus === '' ? {} : { cpus: Number(texts.cpus) }),
    ...(texts.memory_bytes === ''
      ? {}
      : { memory_bytes: Math.round(Number(texts.memory_bytes) * GIB) }),
  }
}

const put = (share: Share, body: ShareSet): Promise<Share> => {
  if (share.kind === 'organisation') {
    const { parent: _, ...root } = body
    return ask(client.PUT('/api/v1/organisation', { body: root }))
  }
  if (share.kind === 'team') {
    const params = { path: { team: share.name } }
    return ask(client.PUT('/api/v1/teams/{team}', { params, body }))
  }
  const params = { path: { project: share.name } }
  return ask(client.PUT('/api/v1/projects/{project}/share', { params, body }))
}

interface FormProps {
  share: Share
  teams: string[] // that it may lie below
  onClose: () => void
}

function ShareForm({ share, teams, onClose }: FormProps): ReactElement {
  const queries = useQueryClient()
  const [texts, setTexts] = useState(() => textsOf(share))
  const [parent, setParent] = useState(share.parent ?? '')
  const [weight, setWeight] = useState(String(share.weight))
  const [parallel, setParallel] = useState(
    share.parallel_jobs === null ? '' : String(share.parallel_jobs),
  )
  const [targets, setTargets] = useState(share.targets.join(', '))
  const [held, setHeld] = useState(share.held)
  const [fault, setFault] = useState('')
  const change = (limit: (typeof LIMITS)[number], resource: ShareResource, value: string): void =>
    setTexts((before) => ({ ...before, [limit]: { ...before[limit], [resource]: value } }))
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const names = targets.split(/[\s,]+/).filter(Boolean)
    const body: ShareSet = {
      ...(parent ? { parent } : {}),
      ...(weight === '' ? {} : { weight: Number(weight) }),
      quota: amountsOf(texts.quota),
      borrow: amountsOf(texts.borrow),
      lend: amountsOf(texts.lend),
      ...(parallel === '' ? {} : { parallel_jobs: Number(parallel) }),
      held,
      targets: names,
    }
    try {
      await put(share, body)
      await queries.invalidateQueries({ queryKey: ['shares'] })
      onClose()
    } catch (error) {
      const field = error instanceof ApiError && error.field ? `${error.field}: ` : ''
      const text = failureOf(error)
      setFault(text.startsWith(field) ? text : field + text)
    }
  }
  return (
    <Dialog title={t('shares.edit', { name: shareName(share) })} open onClose={onClose} wide>
      <form className="form" onSubmit={submit}>
        <table className="table share-form">
          <thead>
            <tr>
              <th scope="col">{t('quota.column_resource')}</th>
              {LIMITS.map((limit) => (
                <th key={limit} scope="col">
                  {t(`quota.${limit}`)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {SHARE_RESOURCES.map((resource) => (
              <tr key={resource}>
                <th scope="row">
                  {resource === 'memory_bytes' ? t('quota.memory') : resourceText(resource)}
                </th>
                {LIMITS.map((limit) => (
                  <td key={limit}>
                    <input
                      className="input"
                      type="number"
                      min={0}
                      step={resource === 'memory_bytes' ? 'any' : 1}
                      aria-label={`${t(`quota.${limit}`)}: ${resourceText(resource)}`}
                      value={texts[limit][resource]}
                      onChange={(event) => change(limit, resource, event.target.value)}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        <p className="field-hint">{t('quota.empty_hint')}</p>
        {share.kind !== 'organisation' && (
          <Choice
            label={t('quota.parent')}
            value={parent}
            onChange={setParent}
            choices={[
              { value: '', label: t('share.organisation') },
              ...teams.map((name) => ({ value: name, label: name })),
            ]}
          />
        )}
        <Field
          label={t('quota.weight')}
          hint={t('quota.weight_hint')}
          type="number"
          min={0}
          max={1_000_000}
          value={weight}
          onChange={(event) => setWeight(event.target.value)}
        />
        <Field
          label={t('quota.parallel')}
          hint={t('quota.empty_hint')}
          type="number"
          min={0}
          max={1_000_000}
          value={parallel}
          onChange={(event) => setParallel(event.target.value)}
        />
        <Field
          label={t('quota.targets')}
          hint={t('quota.targets_hint')}
          value={targets}
          spellCheck={false}
          onChange={(event) => setTargets(event.target.value)}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={held}
            onChange={(event) => setHeld(event.target.checked)}
          />
          <span>{t('quota.hold')}</span>
        </label>
        {fault && (
          <p className="form-error" role="alert">
            {fault}
          </p>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="main" type="submit">
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const LEVELS = {
  project: 'quota.level_project',
  team: 'quota.level_team',
  organisation: 'quota.level_organisation',
} as const

function ShareSection(props: { share: Share; admin: boolean; onEdit: () => void }): ReactElement {
  const { share } = props
  const shown = (n: number | null, resource: ShareResource, unset: string): ReactElement =>
    n === null ? <span className="muted">{unset}</span> : <span>{shareAmount(resource, n)}</span>
  const name = shareName(share)
  return (
    <section className="share-section" aria-label={name} data-share={share.name}>
      <header className="queue-head">
        <h3>
          {share.kind === 'organisation' ? '' : `${t(LEVELS[share.kind])} `}
          {name}
        </h3>
        {share.held && <span className="tag tag-held">{t('shares.held')}</span>}
        <span className="muted">
          {t('quota.weight')}: {formatInteger(share.weight)}
        </span>
        <span className="muted">
          {t('quota.parallel')}:{' '}
          {share.parallel_jobs === null
            ? t('quota.parallel_any')
            : t('shares.jobs_of', { n: share.running, limit: share.parallel_jobs })}
        </span>
        {share.targets.length > 0 && (
          <span className="muted">
            {t('quota.targets')}: {share.targets.join(', ')}
          </span>
        )}
        <span className="spring" />
        {props.admin && (
          <IconButton icon="pen" label={t('shares.edit', { name })} onClick={props.onEdit} />
        )}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls where it is narrow */}
      <div className="table-scroll" role="group" aria-label={name} tabIndex={0}>
        <table className="table share-table">
          <thead>
            <tr>
              <th scope="col">{t('quota.column_resource')}</th>
              <th scope="col">{t('quota.column_used')}</th>
              <th scope="col" className="num">
                {t('quota.column_quota')}
              </th>
              <th scope="col" className="num">
                {t('quota.column_borrow')}
              </th>
              <th scope="col" className="num">
                {t('quota.column_lend')}
              </th>
            </tr>
          </thead>
          <tbody>
            {SHARE_RESOURCES.map((resource) => (
              <tr key={resource}>
                <th scope="row">{resourceText(resource)}</th>
                <td>
                  <ShareBar share={share} resource={resource} />
                </td>
                <td className="num">
                  {shown(share.quota[resource], resource, t('quota.unset_quota'))}
                </td>
                <td className="num">
                  {shown(share.borrow[resource], resource, t('quota.unset_borrow'))}
                </td>
                <td className="num">
                  {shown(share.lend[resource], resource, t('quota.unset_lend'))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** A team may lie below any other that does not lie below it. */
function teamsFor(share: Share, shares: Share[]): string[] {
  const below = new Set(share.kind === 'team' ? [share.name] : [])
  for (const one of shares)
    if (one.kind === 'team' && one.parent !== null && below.has(one.parent)) below.add(one.name)
  return shares.filter((one) => one.kind === 'team' && !below.has(one.name)).map((one) => one.name)
}

interface QuotasProps {
  project: string
  own: Share[] // the project's, then those above it
  shares: Share[]
  admin: boolean
}

export function Quotas({ project, own, shares, admin }: QuotasProps): ReactElement {
  const [editing, setEditing] = useState<Share | null>(null)
  return (
    <Card title={t('quota.of_project', { name: project })}>
      {own.map((share) => (
        <ShareSection
          key={`${share.kind} ${share.name}`}
          share={share}
          admin={admin}
          onEdit={() => setEditing(share)}
        />
      ))}
      <ShareKey />
      {editing && (
        <ShareForm
          key={editing.name}
          share={editing}
          teams={teamsFor(editing, shares)}
          onClose={() => setEditing(null)}
        />
      )}
    </Card>
  )
}
