import type { ReactElement } from 'react'
import type { SeriesBy, XAxis } from '../api/queries'
import { t } from '../base/i18n'
import { IconButton } from './button'
import { Cut } from './cut'
import { SearchField, Select } from './field'
import { useDark, useSeen, useShortcuts, useSize, useViewParam } from './hooks'

/** What boards of charts need from here. */
export const chartParts = { Cut, IconButton, useSeen, useSize, useDark }

const SMOOTHING = ['0', '0.3', '0.6', '0.8', '0.9', '0.95', '0.99']

export interface ChartView {
  settings: { x: XAxis; log: boolean; smoothing: number; by: SeriesBy; hidden: boolean }
  filter: string
  zoom: { min: number; max: number } | null
  setZoom: (range: { min: number; max: number } | null) => void
  tools: ReactElement
}

/** What can be asked of the runs on the board beyond one line each. */
export interface ChartChoices {
  ranks?: boolean
  hosts?: boolean
  hidden?: boolean
}

const isBy = (value: string): value is SeriesBy =>
  value === '' || value === 'rank' || value === 'host'

const isAxis = (value: string): value is XAxis =>
  value === 'step' || value === 'time' || value === 'relative'

function zoomOf(text: string): { min: number; max: number } | null {
  const [min, max] = text.split('~').map(Number)
  if (min === undefined || max === undefined) return null
  return Number.isFinite(min) && Number.isFinite(max) && min < max ? { min, max } : null
}

/** Axis, scale, smoothing, zoom and filter of a board: all in the URL, all with keys. */
export function useChartView(defaultX: XAxis, choices: ChartChoices = {}): ChartView {
  const [xText, setX] = useViewParam('x', defaultX)
  const [log, setLog] = useViewParam('log', '0')
  const [smoothing, setSmoothing] = useViewParam('smooth', '0')
  const [byText, setBy] = useViewParam('by', '')
  const [hidden, setHidden] = useViewParam('aside', '0')
  const [filter, setFilter] = useViewParam('m', '')
  const [zoomText, setZoomText] = useViewParam('range', '', 'push')
  const x = isAxis(xText) ? xText : defaultX
  const by = isBy(byText) && (choices.ranks || choices.hosts) ? byText : ''
  const zoom = zoomOf(zoomText)
  const setZoom = (range: { min: number; max: number } | null): void =>
    setZoomText(
      range ? `${Number(range.min.toPrecision(12))}~${Number(range.max.toPrecision(12))}` : '',
    )
  const move = (by: number): void => {
    const at = SMOOTHING.indexOf(smoothing)
    const next = SMOOTHING[Math.min(SMOOTHING.length - 1, Math.max(0, at + by))]
    if (next !== undefined) setSmoothing(next)
  }
  useShortcuts({
    l: () => setLog(log === '1' ? '0' : '1'),
    z: () => setZoom(null),
    ',': () => move(-1),
    '.': () => move(1),
  })
  const tools = (
    <div className="chart-tools">
      <SearchField label={t('charts.filter')} value={filter} onChange={setFilter} />
      <Select
        label={t('charts.x_axis')}
        value={x}
        onChange={(value) => {
          setX(value)
          if (zoom) setZoom(null)
        }}
        choices={[
          { value: 'step', label: t('charts.x_step') },
          { value: 'relative', label: t('charts.x_relative') },
          { value: 'time', label: t('charts.x_time') },
        ]}
      />
      <label className="slider">
        <span>{t('charts.smoothing')}</span>
        <input
          type="range"
          min="0"
          max={SMOOTHING.length - 1}
          value={Math.max(0, SMOOTHING.indexOf(smoothing))}
          onChange={(event) => setSmoothing(SMOOTHING[Number(event.target.value)] ?? '0')}
        />
        <output>{smoothing}</output>
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={log === '1'}
          onChange={(event) => setLog(event.target.checked ? '1' : '0')}
        />
        {t('charts.log_scale')}
      </label>
      {(choices.ranks || choices.hosts) && (
        <Select
          label={t('charts.by')}
          value={by}
          onChange={setBy}
          choices={[
            { value: '', label: t('charts.by_run') },
            ...(choices.ranks ? [{ value: 'rank' as const, label: t('charts.by_rank') }] : []),
            ...(choices.hosts ? [{ value: 'host' as const, label: t('charts.by_host') }] : []),
          ]}
        />
      )}
      {choices.hidden && (
        <label className="check">
          <input
            type="checkbox"
            checked={hidden === '1'}
            onChange={(event) => setHidden(event.target.checked ? '1' : '0')}
          />
          {t('charts.show_aside')}
        </label>
      )}
      {zoom && (
        <IconButton icon="reset" label={t('charts.reset_zoom')} onClick={() => setZoom(null)} />
      )}
    </div>
  )
  const settings = {
    x,
    log: log === '1',
    smoothing: Number(smoothing) || 0,
    by,
    hidden: choices.hidden === true && hidden === '1',
  }
  return { settings, filter, zoom, setZoom, tools }
}
