// What stands beside the launch form: where the job fits now, what it may cost, and the same as a
// command line and as a file.
import { type ReactElement, useState } from 'react'
import type { Agent, Budget, Job, Queue, Share, Target } from '../../api/client'
import { useForecast } from '../../api/queries'
import { formatDuration, formatMoney } from '../../base/format'
import { t } from '../../base/i18n'
import { gpuHours, type Need, namedTargets, needOf } from '../../widgets/amount'
import { Segments } from '../../widgets/button'
import { Command } from '../../widgets/empty'
import { Card } from '../../widgets/facts'
import { closedBy, fitOf } from '../../widgets/fit'
import { Forecast } from '../../widgets/forecast'
import { useRested } from '../../widgets/hooks'
import { commandText, fileText } from './command'
import type { Body, Form } from './form'

export interface Place {
  targets: Target[]
  agents: Agent[]
  queue: Queue | undefined
  shares: Share[] // of the project and those above
  budget: Budget | undefined
  currency: string
}

const HOUR_S = 3600

/** Price of an hour at a target, in millionths. */
export const hourPrice = (target: Target, need: Need): number =>
  need.nodes * (target.price_hour_micro + need.gpus * target.price_gpu_hour_micro)

/** The targets a job may use, in its order. */
function named(body: Body | null, targets: Target[]): Target[] {
  const names = body ? namedTargets(body) : []
  if (names.length === 0) return targets
  return names.flatMap((name) => targets.filter((target) => target.name === name))
}

/** A volume or bucket that the job names and the target does not have. */
function lacks(target: Target, spec: Job['spec']): string | null {
  const missing =
    spec.volumes?.find((one) => !target.volumes.some((have) => have.name === one.name))?.name ??
    spec.buckets?.find((name) => !target.buckets.some((have) => have.name === name))
  return missing === undefined ? null : t('fit.no_volume', { name: missing })
}

function leftText(budget: Budget | undefined, currency: string): string {
  const words: string[] = []
  const { gpu_ms: ms, cost_micro: cost } = budget?.left ?? { gpu_ms: null, cost_micro: null }
  if (ms !== null) words.push(t('amount.gpu_hours', { n: gpuHours(ms) }))
  if (cost !== null) words.push(formatMoney(cost, currency))
  return words.join(', ')
}

export function Fits({ body, place }: { body: Body | null; place: Place }): ReactElement {
  const { agents, queue, shares, currency, budget } = place
  const spec: Job['spec'] = body?.spec ?? { command: [] }
  const need = needOf({ spec })
  const types = spec.gpu_type === undefined ? [] : [spec.gpu_type].flat()
  const rows = named(body, place.targets).map((target) => {
    const closed = closedBy(target.name, queue, shares) ?? lacks(target, spec)
    const fit = fitOf(target, agents, { ...need, gpuTypes: types })
    return { target, fits: fit.fits && closed === null, text: closed ?? fit.text }
  })
  const limit = spec.timeout_s ?? (spec.kind === 'service' ? null : (queue?.timeout_s ?? null))
  const left = leftText(budget, currency)
  return (
    <Card title={t('launch.fits')}>
      <div role="status">
        {rows.length === 0 && <p className="empty-hint">{t('launch.no_target')}</p>}
        <ul className="fits">
          {rows.map(({ target, fits, text }) => (
            <li key={target.name} data-target={target.name} data-fits={fits}>
              <span className={`state state-${fits ? 'good' : 'quiet'}`}>
                <span className="state-dot" aria-hidden="true" />
                {target.name}
              </span>
              <span>{text}</span>
              <span className="muted num">
                {t('launch.price', { price: formatMoney(hourPrice(target, need), currency) })}
                {limit !== null && (
                  <span className="fits-most">
                    {t('launch.at_most', {
                      price: formatMoney(
                        Math.round((hourPrice(target, need) * limit) / HOUR_S),
                        currency,
                      ),
                      time: formatDuration(limit * 1000),
                    })}
                  </span>
                )}
              </span>
            </li>
          ))}
        </ul>
        {rows.length > 0 && !rows.some((row) => row.fits) && (
          <p className="empty-hint">{t('launch.fits_nowhere')}</p>
        )}
        {left && <p className="empty-hint">{t('launch.left', { what: left })}</p>}
      </div>
    </Card>
  )
}

/** When it might start, as the scheduler sees it; asked when the form rests. */
export function When({
  project,
  body,
  currency,
}: {
  project: string
  body: Body | null
  currency: string
}): ReactElement | null {
  const rested = useRested(body ? JSON.stringify(body) : '', 500)
  const found = useForecast(project, rested)
  if (!body || !found.data) return null
  return (
    <Card title={t('launch.when')}>
      <div role="status">
        <Forecast forecast={found.data} currency={currency} />
      </div>
    </Card>
  )
}

/** The same job for the command line; changes as one types. */
export function Same({ form, body }: { form: Form; body: Body | null }): ReactElement | null {
  const [how, setHow] = useState<'command' | 'file'>('command')
  if (!body) return null
  return (
    <section className="launch-same" aria-label={t('launch.as_command')}>
      <Segments
        label={t('launch.as_command')}
        value={how}
        onChange={setHow}
        choices={[
          { value: 'command', label: t('launch.as_command') },
          { value: 'file', label: t('launch.as_file') },
        ]}
      />
      {how === 'command' ? (
        <Command label={t('launch.as_command')} text={commandText(form, body)} />
      ) : (
        <Command label={t('launch.as_file')} text={fileText(form, body)} />
      )}
    </section>
  )
}
