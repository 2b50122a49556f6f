import {
  type ReactElement,
  type RefObject,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import 'uplot/dist/uPlot.min.css'
import { type SeriesQuery, useSeries, type XAxis } from '../api/queries'
import { coloursFor } from '../base/colours'
import { formatInteger, formatMetric } from '../base/format'
import { t } from '../base/i18n'
import type { Crosshair } from './core/crosshair'
import { formatX, Plot, type PlotColours, type PlotPoint } from './core/plot'
import { countNonpositive, type Range, type Series, seriesFrom } from './core/series'

export interface ChartRun {
  id: string
  name: string
}

export interface ChartSettings {
  x: XAxis
  log: boolean
  smoothing: number
}

interface ChartProps {
  project: string
  runs: ChartRun[]
  allRuns: string[] // for colours that stay the same over panels
  metric: string
  settings: ChartSettings
  zoom: Range | null
  onZoom: (range: Range | null) => void
  crosshair: Crosshair
  dark: boolean
  seen: boolean
  asTable: boolean
  size: { width: number; height: number }
}

interface Hover {
  points: PlotPoint[]
  left: number
  top: number
}

function coloursOfTheme(element: HTMLElement): PlotColours {
  const style = getComputedStyle(element)
  const value = (name: string): string => style.getPropertyValue(name).trim()
  // Canvas cannot read light-dark(): probes in the style sheet resolve it.
  return {
    text: style.color,
    grid: style.borderTopColor,
    cursor: style.outlineColor,
    surface: value('--surface'),
  }
}

function useChartSeries(props: ChartProps): {
  series: Series[]
  loading: boolean
  failed: Error | null
} {
  const query: SeriesQuery = {
    project: props.project,
    runs: props.runs.map((run) => run.id),
    metric: props.metric,
    x: props.settings.x,
    from: props.zoom ? Math.floor(props.zoom.min) : null,
    to: props.zoom ? Math.ceil(props.zoom.max) : null,
    // In steps, so that a resize by a few pixels asks nothing anew.
    buckets: Math.min(4096, Math.max(50, Math.ceil(props.size.width / 2 / 50) * 50)),
  }
  const asked = useSeries(query, props.seen && props.size.width > 0)
  const { runs, allRuns, dark } = props
  const data = asked.data
  const series = useMemo(() => {
    const colours = coloursFor(allRuns, dark)
    const names = new Map(runs.map((run) => [run.id, run.name]))
    return (data ?? [])
      .filter((one) => one.count > 0)
      .map((one) =>
        seriesFrom(one, {
          id: one.run,
          label: names.get(one.run) ?? one.run,
          colour: colours.get(one.run) ?? '#888888',
        }),
      )
  }, [data, runs, allRuns, dark])
  return { series, loading: asked.isPending, failed: data ? null : asked.error }
}

function Tooltip({
  metric,
  hover,
  kind,
  width,
}: {
  metric: string
  hover: Hover
  kind: XAxis
  width: number
}): ReactElement {
  const first = hover.points[0]
  const shown = hover.points.slice(0, 12)
  const right = hover.left > width / 2
  const style = right
    ? { right: width - hover.left + 12, top: 8 }
    : { left: hover.left + 12, top: 8 }
  return (
    <div className="chart-tip" style={style} aria-hidden="true">
      <div className="chart-tip-x">{first && formatX(kind, first.x)}</div>
      {shown.map((point) => (
        <div key={point.series.id} className="chart-tip-row">
          <span className="swatch" style={{ background: point.series.colour }} />
          <span className="chart-tip-name">{point.series.label}</span>
          <span className="chart-tip-value">{formatMetric(metric, point.value, 6)}</span>
        </div>
      ))}
      {hover.points.length > shown.length && (
        <div className="chart-tip-more">+ {formatInteger(hover.points.length - shown.length)}</div>
      )}
    </div>
  )
}

function lastOf(series: Series): number {
  return series.last.length > 0 ? (series.last[series.last.length - 1] as number) : Number.NaN
}

function least(series: Series, pick: 'min' | 'max'): number {
  const values = series[pick].filter((value) => Number.isFinite(value))
  if (values.length === 0) return Number.NaN
  return pick === 'min' ? Math.min(...values) : Math.max(...values)
}

function ChartTable({ metric, series }: { metric: string; series: Series[] }): ReactElement {
  return (
    <div className="chart-table">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t('charts.column_run')}</th>
            <th scope="col" className="num">
              {t('charts.column_last')}
            </th>
            <th scope="col" className="num">
              {t('charts.column_min')}
            </th>
            <th scope="col" className="num">
              {t('charts.column_max')}
            </th>
            <th scope="col" className="num">
              {t('charts.column_points')}
            </th>
          </tr>
        </thead>
        <tbody>
          {series.map((one) => (
            <tr key={one.id}>
              <th scope="row">
                <span className="swatch" style={{ background: one.colour }} /> {one.label}
              </th>
              <td className="num">{formatMetric(metric, lastOf(one), 6)}</td>
              <td className="num">{formatMetric(metric, least(one, 'min'), 6)}</td>
              <td className="num">{formatMetric(metric, least(one, 'max'), 6)}</td>
              <td className="num">{formatInteger(one.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Keeps a Plot in step with React: made once the size is known, updated, destroyed. */
function usePlot(
  props: ChartProps,
  series: Series[],
  root: RefObject<HTMLDivElement | null>,
): Hover | null {
  const plot = useRef<Plot | null>(null)
  const [hover, setHover] = useState<Hover | null>(null)
  const latest = useRef(props)
  latest.current = props
  const { size, settings, zoom, crosshair, dark } = props
  const ready = size.width > 0 && size.height > 0 && series.length > 0
  useEffect(() => {
    const element = root.current
    if (!element || !ready) return
    const made = new Plot(element, {
      view: {
        series: [],
        xKind: 'step',
        log: settings.log,
        smoothing: 0,
        zoom: null,
        highlight: null,
      },
      colours: coloursOfTheme(element),
      crosshair,
      metric: latest.current.metric,
      width: latest.current.size.width,
      height: latest.current.size.height,
      events: {
        onHover: (points, left, top) => setHover({ points, left, top }),
        onLeave: () => setHover(null),
        onZoom: (range) => latest.current.onZoom(range),
      },
    })
    plot.current = made
    return () => {
      plot.current = null
      made.destroy()
      setHover(null)
    }
    // The axis kind is fixed when a plot is made.
  }, [root, ready, crosshair, settings.log])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a theme change gives other colours
  useEffect(() => {
    const element = root.current
    if (!element || !plot.current) return
    plot.current.resize(size.width, size.height)
    plot.current.update(
      {
        series,
        xKind: settings.x,
        log: settings.log,
        smoothing: settings.smoothing,
        zoom,
        highlight: null,
      },
      coloursOfTheme(element),
    )
  }, [root, ready, series, settings, zoom, size, dark])
  return hover
}

function chartLabel(metric: string, series: Series[]): string {
  const count = series.reduce((sum, one) => sum + one.count, 0)
  const last = series[0] ? formatMetric(metric, lastOf(series[0]), 5) : '–'
  return t('charts.label', { metric, count, last })
}

/** One metric over its runs. The panel around it gives size and settings. */
export function Chart(props: ChartProps): ReactElement {
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  const { series, loading, failed } = useChartSeries(props)
  const drawn = props.asTable ? [] : series
  const hover = usePlot(props, drawn, root)
  const notFinite = series.reduce((sum, one) => sum + one.notFinite, 0)
  const nonpositive = props.settings.log ? countNonpositive(series.map((one) => one.last)) : 0
  const label = chartLabel(props.metric, series)
  return (
    <div className="chart" data-points={series.reduce((sum, one) => sum + one.count, 0)}>
      {props.asTable && series.length > 0 && <ChartTable metric={props.metric} series={series} />}
      <div
        className="chart-root"
        ref={root}
        role="img"
        aria-labelledby={id}
        hidden={props.asTable}
      />
      <span id={id} className="visually-hidden">
        {label}
      </span>
      {series.length === 0 && !loading && (
        <div className="chart-none">{failed ? t('error.unexpected') : t('charts.no_points')}</div>
      )}
      {hover && hover.points.length > 0 && !props.asTable && (
        <Tooltip
          metric={props.metric}
          hover={hover}
          kind={props.settings.x}
          width={props.size.width}
        />
      )}
      {(notFinite > 0 || nonpositive > 0) && (
        <div className="chart-note">
          {notFinite > 0 && <span>{t('charts.not_finite', { n: notFinite })}</span>}
          {nonpositive > 0 && <span>{t('charts.nonpositive', { n: nonpositive })}</span>}
        </div>
      )}
    </div>
  )
}
