// What the scheduler makes of what might be: in words.
import type { ReactElement } from 'react'
import type { JobForecast } from '../api/client'
import { t } from '../base/i18n'
import { rankText, waitingWords } from './waiting'

interface ForecastProps {
  forecast: JobForecast
  currency: string
}

/** Whether it would start at once, else what it would wait for and until about when. */
export function Forecast({ forecast, currency }: ForecastProps): ReactElement | null {
  const { starts, waiting, refused } = forecast
  if (refused) return <p>{t('forecast.refused', { why: refused.message })}</p>
  if (starts) return <p>{t('forecast.starts')}</p>
  if (!waiting) return null
  const words = waitingWords(waiting, currency)
  return (
    <p>{[words.text, rankText(waiting), words.estimate].filter((part) => part !== '').join(' ')}</p>
  )
}

/** The jobs that it would pass with another priority. */
export function Passed({ forecast }: { forecast: JobForecast }): ReactElement | null {
  const named = forecast.passed ?? []
  const count = forecast.passed_count ?? 0
  const more = count - named.length
  if (count === 0) return <p>{t('forecast.passes_none')}</p>
  return (
    <>
      <p>{t('forecast.passes', { n: count })}</p>
      <ul className="passed">
        {named.map((job) => (
          <li key={job.id}>
            {job.name || job.id} <span className="muted">{job.project}</span>
          </li>
        ))}
        {more > 0 && named.length > 0 && (
          <li className="muted">{t('forecast.passes_more', { n: more })}</li>
        )}
      </ul>
    </>
  )
}
