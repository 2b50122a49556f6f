// The tree by which hardware is shared: what each node uses, owns and has borrowed.
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { Amounts, Share } from '../api/client'
import { formatBytes, formatInteger } from '../base/format'
import { t } from '../base/i18n'
import { Bar } from './bar'

export type ShareResource = keyof Amounts
export const SHARE_RESOURCES: ShareResource[] = ['gpus', 'cpus', 'memory_bytes']

export const resourceText = (resource: ShareResource): string =>
  resource === 'gpus' ? t('quota.gpus') : resource === 'cpus' ? t('quota.cpus') : t('job.memory')

export const shareAmount = (resource: ShareResource, n: number): string =>
  resource === 'memory_bytes' ? formatBytes(n) : formatInteger(n)

export const shareName = (share: Pick<Share, 'kind' | 'name'>): string =>
  share.kind === 'organisation' ? t('share.organisation') : share.name

const keyOf = (share: Share): string => `${share.kind} ${share.name}`

/** How deep a node lies: 0 for the organisation. */
export function shareDepths(shares: Share[]): Map<Share, number> {
  const teams = new Map<string, number>()
  const depths = new Map<Share, number>()
  for (const share of shares) {
    const above = share.parent === null ? 0 : (teams.get(share.parent) ?? 0)
    const depth = share.kind === 'organisation' ? 0 : above + 1
    if (share.kind === 'team') teams.set(share.name, depth)
    depths.set(share, depth)
  }
  return depths
}

/** A project's share, and those above it up to the organisation. */
export function sharesAbove(shares: Share[], project: string): Share[] {
  const found: Share[] = []
  let at = shares.find((share) => share.kind === 'project' && share.name === project)
  while (at && found.length <= shares.length) {
    found.push(at)
    const parent: string | null = at.parent
    if (at.kind === 'organisation') break
    at = shares.find((share) =>
      parent === null
        ? share.kind === 'organisation'
        : share.kind === 'team' && share.name === parent,
    )
  }
  return found
}

interface Use {
  used: number
  quota: number | null
  borrowed: number
}

export function shareUse(share: Share, resource: ShareResource): Use {
  const used = share.use[resource] ?? 0
  const quota = share.quota[resource]
  return { used, quota, borrowed: quota === null ? 0 : Math.max(0, used - quota) }
}

export function shareUseText({ used, quota, borrowed }: Use, resource: ShareResource): string {
  const say = (n: number): string => shareAmount(resource, n)
  if (quota === null) return t('shares.used', { used: say(used) })
  if (borrowed === 0) return t('shares.used_of', { used: say(used), quota: say(quota) })
  return t('shares.borrowed', { used: say(used), quota: say(quota), borrowed: say(borrowed) })
}

/** What is used, of what is owned, and what of it is borrowed. */
export function ShareBar(props: {
  share: Share
  resource: ShareResource
  whole?: number // what a share without quota is measured by: all that is used
}): ReactElement {
  const { share, resource, whole = 0 } = props
  const use = shareUse(share, resource)
  const text = shareUseText(use, resource)
  return (
    <span className="share-use">
      <Bar
        label={`${shareName(share)}: ${text}`}
        parts={[
          { size: use.used - use.borrowed, tone: 'used' },
          ...(use.borrowed > 0 ? [{ size: use.borrowed, tone: 'borrowed' as const }] : []),
        ]}
        mark={use.quota}
        scale={Math.max(use.quota ?? whole, use.used, 1)}
      />
      <span className="num">{text}</span>
    </span>
  )
}

interface RowProps {
  share: Share
  depth: number
  resource: ShareResource
  whole: number
}

function Row(props: RowProps): ReactElement {
  const { share, depth, resource } = props
  const limit = share.parallel_jobs
  return (
    <tr data-share={share.name}>
      <th scope="row" className={`share-level-${Math.min(depth, 9)}`}>
        {share.kind === 'project' ? (
          <Link href={`/p/${share.name}/quota`} className="row-link">
            {share.name}
          </Link>
        ) : (
          shareName(share)
        )}
        {share.held && <span className="tag tag-held">{t('shares.held')}</span>}
      </th>
      <td>
        <ShareBar share={share} resource={resource} whole={props.whole} />
      </td>
      <td className="num">
        {limit === null
          ? formatInteger(share.running)
          : t('shares.jobs_of', { n: share.running, limit })}
      </td>
      <td className="num">{formatInteger(share.weight)}</td>
    </tr>
  )
}

export function ShareKey(): ReactElement {
  return (
    <p className="bar-key" aria-hidden="true">
      <span className="bar-key-used">{t('shares.key_used')}</span>
      <span className="bar-key-borrowed">{t('shares.key_borrowed')}</span>
      <span className="bar-key-mark">{t('shares.key_quota')}</span>
    </p>
  )
}

/** The whole tree as a table, teams before what lies below them. */
export function ShareTree(props: { shares: Share[]; resource: ShareResource }): ReactElement {
  const depths = shareDepths(props.shares)
  const whole = Math.max(...props.shares.map((share) => shareUse(share, props.resource).used))
  return (
    <>
      <div className="table-scroll">
        <table className="table share-table">
          <thead>
            <tr>
              <th scope="col">{t('shares.column_name')}</th>
              <th scope="col">{t('shares.column_use')}</th>
              <th scope="col" className="num">
                {t('shares.column_running')}
              </th>
              <th scope="col" className="num">
                {t('shares.column_weight')}
              </th>
            </tr>
          </thead>
          <tbody>
            {props.shares.map((share) => (
              <Row
                key={keyOf(share)}
                share={share}
                depth={depths.get(share) ?? 0}
                resource={props.resource}
                whole={whole}
              />
            ))}
          </tbody>
        </table>
      </div>
      <ShareKey />
    </>
  )
}
