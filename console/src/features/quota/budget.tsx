// The budget of a project: this month as bars and numbers, the months before, and its form.
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import {
  ApiError,
  ask,
  type Budget,
  type BudgetPeriod,
  type BudgetSet,
  client,
} from '../../api/client'
import { useBudgetPeriods } from '../../api/queries'
import { formatMoney, formatNumber } from '../../base/format'
import { currentLanguage, t } from '../../base/i18n'
import { failureOf } from '../../widgets/action'
import { gpuHours } from '../../widgets/amount'
import { Bar } from '../../widgets/bar'
import { Button } from '../../widgets/button'
import { Dialog } from '../../widgets/dialog'
import { Card, Facts } from '../../widgets/facts'
import { Field } from '../../widgets/field'

/** A day of a month as its zone counts it: the last one is the day before the end. */
export function dayText(at: string, zone: string, back = 0): string {
  const when = new Date(Date.parse(at) - back)
  const how = { dateStyle: 'medium' } as const
  try {
    return new Intl.DateTimeFormat(currentLanguage(), { ...how, timeZone: zone }).format(when)
  } catch {
    return new Intl.DateTimeFormat(currentLanguage(), { ...how, timeZone: 'UTC' }).format(when)
  }
}

const monthText = ({ start, end, zone }: BudgetPeriod): string =>
  t('budget.month', { from: dayText(start, zone), to: dayText(end, zone, 1), zone })

interface Measure {
  title: string
  used: number
  committed: number
  limit: number | null
  left: number | null
  forecast: number | null
  lost: number | null
  say: (n: number) => string
}

const HOUR_MS = 3_600_000

export function measuresOf(budget: Budget, currency: string): Measure[] {
  const { period, committed, left, forecast } = budget
  return [
    {
      title: t('budget.gpu_hours'),
      used: period.gpu_ms,
      committed: committed.gpu_ms ?? 0,
      limit: budget.gpu_hours === null ? null : budget.gpu_hours * HOUR_MS,
      left: left.gpu_ms,
      forecast: forecast.gpu_ms,
      lost: period.gpu_ms_lost,
      say: (ms) => formatNumber(gpuHours(ms)),
    },
    {
      title: t('budget.money'),
      used: period.cost_micro,
      committed: committed.cost_micro ?? 0,
      limit: budget.cost_micro,
      left: left.cost_micro,
      forecast: forecast.cost_micro,
      lost: null,
      say: (micro) => formatMoney(micro, currency),
    },
  ]
}

function MeasureView({ measure }: { measure: Measure }): ReactElement {
  const { title, used, committed, limit, left, forecast, lost, say } = measure
  const ahead = Math.max(0, (forecast ?? 0) - used - committed)
  const over = limit !== null && forecast !== null && forecast > limit
  const limitText = limit === null ? t('budget.no_limit') : say(limit)
  const forecastText = forecast === null ? '–' : say(forecast)
  return (
    <section className="budget-measure" aria-label={title}>
      <h3>{title}</h3>
      <Bar
        label={`${title}: ${t('budget.bar', {
          used: say(used),
          limit: limitText,
          forecast: forecastText,
        })}`}
        parts={[
          { size: used, tone: 'used' },
          { size: committed, tone: 'committed' },
          { size: ahead, tone: 'forecast' },
        ]}
        mark={limit}
        scale={Math.max(limit ?? 0, used + committed, forecast ?? 0, 1)}
      />
      <Facts
        items={[
          [t('budget.used'), <strong key="used">{say(used)}</strong>],
          [
            t('budget.committed'),
            <span key="committed" title={t('budget.committed_hint')}>
              {say(committed)}
            </span>,
          ],
          [t('budget.limit'), limitText],
          [t('budget.left'), left === null ? '' : say(left)],
          [
            t('budget.forecast'),
            forecast === null ? (
              <span key="early" className="muted">
                {t('budget.forecast_early')}
              </span>
            ) : (
              <span key="forecast" title={t('budget.forecast_hint')}>
                {forecastText}
                {over && <span className="tag tag-held">{t('budget.over')}</span>}
              </span>
            ),
          ],
          [
            t('budget.lost'),
            lost ? (
              <span key="lost" title={t('budget.lost_hint')}>
                {say(lost)}
              </span>
            ) : (
              ''
            ),
          ],
        ]}
      />
    </section>
  )
}

interface EditProps {
  project: string
  budget: Budget
  currency: string
  onClose: () => void
}

const MICRO = 1_000_000

function BudgetForm({ project, budget, currency, onClose }: EditProps): ReactElement {
  const queries = useQueryClient()
  const [hours, setHours] = useState(budget.gpu_hours === null ? '' : String(budget.gpu_hours))
  const [money, setMoney] = useState(
    budget.cost_micro === null ? '' : String(budget.cost_micro / MICRO),
  )
  const [zone, setZone] = useState(budget.zone)
  const [fault, setFault] = useState({ field: '', text: '' })
  const faultIn = (field: string): string | undefined =>
    fault.text && fault.field === field ? fault.text : undefined
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const body: BudgetSet = {
      ...(hours === '' ? {} : { gpu_hours: Number(hours) }),
      ...(money === '' ? {} : { cost_micro: Math.round(Number(money) * MICRO) }),
      ...(zone.trim() === '' ? {} : { zone: zone.trim() }),
    }
    try {
      const params = { path: { project } }
      await ask(client.PUT('/api/v1/projects/{project}/budget', { params, body }))
      await queries.invalidateQueries({ queryKey: ['budget', project] })
      onClose()
    } catch (error) {
      const field = error instanceof ApiError ? error.field : ''
      const known = ['gpu_hours', 'cost_micro', 'zone'].includes(field)
      setFault({ field: known ? field : '', text: failureOf(error) })
    }
  }
  return (
    <Dialog title={t('budget.edit')} open onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field
          label={t('budget.set_hours')}
          hint={t('quota.empty_hint')}
          error={faultIn('gpu_hours')}
          type="number"
          min={0}
          max={1_000_000_000}
          value={hours}
          onChange={(event) => setHours(event.target.value)}
        />
        <Field
          label={t('budget.set_money', { currency })}
          hint={t('quota.empty_hint')}
          error={faultIn('cost_micro')}
          type="number"
          min={0}
          step="0.01"
          value={money}
          onChange={(event) => setMoney(event.target.value)}
        />
        <Field
          label={t('budget.zone')}
          hint={t('budget.zone_hint')}
          error={faultIn('zone')}
          value={zone}
          maxLength={64}
          spellCheck={false}
          onChange={(event) => setZone(event.target.value)}
        />
        {faultIn('') && (
          <p className="form-error" role="alert">
            {fault.text}
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

interface BudgetProps {
  project: string
  budget: Budget
  currency: string
  admin: boolean
}

export function BudgetCard(props: BudgetProps): ReactElement {
  const { budget, currency, admin } = props
  const [editing, setEditing] = useState(false)
  const none = budget.gpu_hours === null && budget.cost_micro === null
  const next = budget.next_period
  return (
    <Card
      title={t('budget.title')}
      tools={
        admin && (
          <Button icon="pen" onClick={() => setEditing(true)}>
            {t('budget.edit')}
          </Button>
        )
      }
    >
      <p className="empty-hint">
        {monthText(budget.period)}
        {budget.zone !== budget.period.zone && ` · ${t('budget.zone_next', { zone: budget.zone })}`}
      </p>
      {none && <p className="empty-hint">{t('budget.none')}</p>}
      {measuresOf(budget, currency).map((measure) => (
        <MeasureView key={measure.title} measure={measure} />
      ))}
      <p className="bar-key" aria-hidden="true">
        <span className="bar-key-used">{t('budget.used')}</span>
        <span className="bar-key-committed">{t('budget.committed')}</span>
        <span className="bar-key-forecast">{t('budget.forecast')}</span>
        <span className="bar-key-mark">{t('budget.limit')}</span>
      </p>
      {next.gpu_ms + next.cost_micro > 0 && (
        <p className="empty-hint">
          {t('budget.next', {
            hours: t('amount.gpu_hours', { n: gpuHours(next.gpu_ms) }),
            money: formatMoney(next.cost_micro, currency),
          })}
        </p>
      )}
      {editing && <BudgetForm {...props} onClose={() => setEditing(false)} />}
    </Card>
  )
}

export function History(props: { project: string; currency: string }): ReactElement {
  const periods = useBudgetPeriods(props.project).data ?? []
  return (
    <Card title={t('budget.history')}>
      {periods.length === 0 ? (
        <p className="empty-hint">{t('budget.history_none')}</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t('budget.history_month')}</th>
              <th scope="col" className="num">
                {t('budget.gpu_hours')}
              </th>
              <th scope="col" className="num">
                {t('budget.lost')}
              </th>
              <th scope="col" className="num">
                {t('budget.money')}
              </th>
            </tr>
          </thead>
          <tbody>
            {periods.map((period) => (
              <tr key={period.start}>
                <th scope="row" className="cell-wrap">
                  {monthText(period)}
                </th>
                <td className="num">{formatNumber(gpuHours(period.gpu_ms))}</td>
                <td className="num">{formatNumber(gpuHours(period.gpu_ms_lost))}</td>
                <td className="num">{formatMoney(period.cost_micro, props.currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}
