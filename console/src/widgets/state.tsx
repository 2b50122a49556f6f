import type { ReactElement } from 'react'
import { tName } from '../base/i18n'

const TONES: Record<string, string> = {
  running: 'active',
  starting: 'active',
  claimed: 'active',
  offered: 'waiting',
  queued: 'waiting',
  pending: 'waiting',
  held: 'quiet',
  stopping: 'active',
  finished: 'good',
  succeeded: 'good',
  online: 'good',
  failed: 'bad',
  crashed: 'bad',
  lost: 'bad',
  unreachable: 'warn',
  conflict: 'bad',
  preempted: 'warn',
  killed: 'quiet',
  cancelled: 'quiet',
  new: 'quiet',
}

/** A state by shape, colour and word: never by colour alone. */
export function StateBadge({
  state,
  title,
}: {
  state: string
  title?: string | undefined
}): ReactElement {
  return (
    <span className={`state state-${TONES[state] ?? 'quiet'}`} title={title} data-state={state}>
      <span className="state-dot" aria-hidden="true" />
      {tName('state', state)}
    </span>
  )
}
