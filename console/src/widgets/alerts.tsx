import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { Alert } from '../api/client'
import { useAlerts } from '../api/queries'
import { formatAgo, formatTime } from '../base/format'
import { t, tName } from '../base/i18n'
import { Popover } from './popover'

/** What runs told people, newest first. */
export function AlertList(props: {
  project: string
  alerts: Alert[]
  names: boolean // of the runs: where alerts of several are shown together
}): ReactElement {
  return (
    <ul className="alerts">
      {props.alerts.map((alert) => (
        <li key={alert.id} className={`alert alert-${alert.level}`}>
          <div className="alert-head">
            <span className="tag">{tName('level', alert.level)}</span>
            <strong>{alert.title}</strong>
            <span className="spring" />
            <span className="muted" title={formatTime(alert.at)}>
              {formatAgo(alert.at)}
            </span>
          </div>
          {alert.text && <p className="alert-text">{alert.text}</p>}
          {props.names && (
            <Link href={`/p/${props.project}/r/${alert.run}/overview`}>{alert.run_name}</Link>
          )}
        </li>
      ))}
    </ul>
  )
}

/** A button with the alerts of a project. Nothing while there are none. */
export function AlertButton({ project }: { project: string }): ReactElement | null {
  const alerts = useAlerts({ project })
  if (!alerts.data || alerts.data.length === 0) return null
  return (
    <Popover label={t('alerts.button', { n: alerts.data.length })} icon="bell">
      <AlertList project={project} alerts={alerts.data} names />
    </Popover>
  )
}
