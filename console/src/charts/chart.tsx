import {
  type KeyboardEvent,
  type ReactElement,
  type RefObject,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import 'uplot/dist/uPlot.min.css'
import type { MetricColumns } from '../api/columns'
import { type SeriesBy, type SeriesQuery, useSeries, type XAxis } from '../api/queries'
import { coloursFor } from '../base/colours'
import { formatInteger, formatMetric } from '../base/format'
import { t } from '../base/i18n'
import type { Crosshair } from './core/crosshair'
import {
  formatX,
  Plot,
  type PlotColours,
  type PlotPoint,
  type Reading,
  type XKind,
} from './core/plot'
import { countNonpositive, type Range, rangeOf, type Series } from './core/series'
import type { ChartParts } from './parts'

export interface ChartRun {
  id: string
  name: string
}

export interface ChartSettings {
  x: XAxis
  log: boolean
  smoothing: number
  by: SeriesBy
  hidden: boolean
}

interface ChartProps {
  project: string
  runs: ChartRun[]
  allRuns: string[] // for colours that stay the same over panels
  metric: string
  axis: string // the metric that it is drawn over; empty: what the settings say
  axisDiffers: boolean // not all of the runs are drawn over it by themselves
  settings: ChartSettings
  zoom: Range | null
  onZoom: (range: Range | null) => void
  crosshair: Crosshair
  dark: boolean
  seen: boolean
  asTable: boolean
  size: { width: number; height: number }
  parts: ChartParts
}

const TIP_ROWS = 10
const TIP_LEAST_PX = 200
const TIP_MOST_PX = 320

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

const kindOf = ({ axis, settings }: ChartProps): XKind => (axis ? 'metric' : settings.x)

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
    xMetric: props.axis,
    from: props.zoom ? (props.axis ? props.zoom.min : Math.floor(props.zoom.min)) : null,
    to: props.zoom ? (props.axis ? props.zoom.max : Math.ceil(props.zoom.max)) : null,
    // In steps, so that a resize by a few pixels asks nothing anew.
    by: props.settings.by,
    hidden: props.settings.hidden,
    buckets: Math.min(4096, Math.max(50, Math.ceil(props.size.width / 2 / 50) * 50)),
  }
  const asked = useSeries(query, props.seen && props.size.width > 0)
  const { runs, allRuns, dark } = props
  const data = asked.data
  const series = useMemo(() => {
    const shown = (data ?? []).filter((one) => one.count > 0)
    // Lines of one run need colours of their own; lines of several keep those of their runs.
    const split = runs.length === 1 && shown.some((one) => partOf(one) !== '')
    const keys = split ? [...new Set(shown.map(partOf))].sort(inOrder) : allRuns
    const colours = coloursFor(keys, dark)
    const names = new Map(runs.map((run) => [run.id, run.name]))
    return shown.map((one) => {
      const colour = colours.get(split ? partOf(one) : one.run) ?? '#888888'
      return {
        ...one,
        id: `${one.run}/${partOf(one)}${one.hidden ? '/hidden' : ''}`,
        label: labelOf(one, names.get(one.run) ?? one.run),
        colour: one.hidden ? `${colour}66` : colour,
      }
    })
  }, [data, runs, allRuns, dark])
  return { series, loading: asked.isPending, failed: data ? null : asked.error }
}

/** Which of a run's processes a series is of; empty: all of them. */
function partOf(one: MetricColumns): string {
  if (one.host !== undefined) return one.host
  if (one.rank === undefined) return ''
  return one.rank === null ? '-' : String(one.rank)
}

const inOrder = (a: string, b: string): number => a.localeCompare(b, undefined, { numeric: true })

function labelOf(one: MetricColumns, name: string): string {
  let label = name
  if (one.host !== undefined) label = t('charts.of_host', { name, host: one.host })
  else if (one.rank === null) label = t('charts.of_no_rank', { name })
  else if (one.rank !== undefined) label = t('charts.of_rank', { name, n: one.rank })
  return one.hidden ? t('charts.set_aside', { name: label }) : label
}

function xOf(reading: Reading): number {
  const near = reading.points.find((point) => point.series.id === reading.near)
  const closest = (best: PlotPoint, one: PlotPoint): PlotPoint =>
    Math.abs(one.x - reading.at) < Math.abs(best.x - reading.at) ? one : best
  return near?.x ?? (reading.points[0] ? reading.points.reduce(closest).x : reading.at)
}

/** At most `max` of them, the one that is pointed at always among them. */
function shownOf({ points, near }: Reading, max: number): PlotPoint[] {
  const at = points.findIndex((point) => point.series.id === near)
  const first = Math.max(0, Math.min(at - Math.floor(max / 2), points.length - max))
  return points.slice(first, first + max)
}

function Tooltip(props: {
  metric: string
  reading: Reading
  kind: XKind
  axis: string
  width: number
  parts: ChartParts
  onUnpin: () => void
}): ReactElement {
  const { metric, reading, width } = props
  const { points, near, left, pinned } = reading
  const shown = shownOf(reading, TIP_ROWS)
  const right = left > width / 2
  const room = Math.max(right ? left : width - left, TIP_LEAST_PX) - 16
  const place = right ? { right: width - left + 12 } : { left: left + 12 }
  const { IconButton: Button, Cut: Name } = props.parts
  return (
    <div
      className={`chart-tip ${pinned ? 'chart-tip-pinned' : ''}`}
      style={{ ...place, maxWidth: Math.min(TIP_MOST_PX, room) }}
      {...(pinned
        ? { role: 'group', 'aria-label': t('charts.pinned') }
        : { 'aria-hidden': true as const })}
    >
      <div className="chart-tip-x">
        <span>{formatX(props.kind, xOf(reading), props.axis)}</span>
        {pinned && <Button icon="close" label={t('charts.unpin')} onClick={props.onUnpin} />}
      </div>
      {shown.map(({ series, value }) => (
        <div
          key={series.id}
          className={`chart-tip-row ${series.id === near && points.length > 1 ? 'chart-tip-near' : ''}`}
        >
          <span className="swatch" style={{ background: series.colour }} />
          <span className="chart-tip-name">
            <Name text={series.label} />
          </span>
          <span className="chart-tip-value">{formatMetric(metric, value, 6)}</span>
        </div>
      ))}
      {points.length > shown.length && (
        <div className="chart-tip-more">
          {t('charts.more_runs', { n: points.length - shown.length })}
        </div>
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
): { reading: Reading | null; plot: RefObject<Plot | null> } {
  const plot = useRef<Plot | null>(null)
  const [reading, setReading] = useState<Reading | null>(null)
  const latest = useRef(props)
  latest.current = props
  const { size, settings, zoom, crosshair, dark, axis } = props
  const kind = kindOf(props)
  const ready = size.width > 0 && size.height > 0 && series.length > 0
  useEffect(() => {
    const element = root.current
    if (!element || !ready) return
    const made = new Plot(element, {
      view: {
        series: [],
        xKind: kind,
        axis,
        log: settings.log,
        smoothing: 0,
        zoom: null,
      },
      colours: coloursOfTheme(element),
      crosshair,
      metric: latest.current.metric,
      width: latest.current.size.width,
      height: latest.current.size.height,
      events: {
        onReading: setReading,
        onZoom: (range) => latest.current.onZoom(range),
      },
    })
    plot.current = made
    return () => {
      plot.current = null
      made.destroy()
      setReading(null)
    }
    // The kinds of its axes are fixed when a plot is made.
  }, [root, ready, crosshair, settings.log, kind, axis])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a theme change gives other colours
  useEffect(() => {
    const element = root.current
    if (!element || !plot.current) return
    plot.current.resize(size.width, size.height)
    plot.current.update(
      {
        series,
        xKind: kind,
        axis,
        log: settings.log,
        smoothing: settings.smoothing,
        zoom,
      },
      coloursOfTheme(element),
    )
  }, [root, ready, series, settings, kind, axis, zoom, size, dark])
  return { reading, plot }
}

function chartLabel(metric: string, series: Series[]): string {
  const count = series.reduce((sum, one) => sum + one.count, 0)
  const last = series[0] ? formatMetric(metric, lastOf(series[0]), 5) : '–'
  return t('charts.label', { metric, count, last })
}

/** What a reading says, for those who hear it. */
function readingText(reading: Reading, props: ChartProps): string {
  const { metric, axis } = props
  const near = reading.points.filter((point) => point.series.id === reading.near)
  const points = near.length > 0 ? near : shownOf(reading, 5)
  const words = points.map(
    ({ series, value }) => `${series.label} ${formatMetric(metric, value, 6)}`,
  )
  return `${formatX(kindOf(props), xOf(reading), axis)}: ${words.join(', ')}`
}

/** Arrows walk along a line and from line to line, Enter pins, Escape unpins. */
function onChartKey(event: KeyboardEvent, plot: Plot | null, crosshair: Crosshair): void {
  const by = event.shiftKey ? 10 : 1
  const far = Number.MAX_SAFE_INTEGER
  const actions: Record<string, () => void> = {
    ArrowLeft: () => plot?.step(-by),
    ArrowRight: () => plot?.step(by),
    ArrowUp: () => plot?.pick(-1),
    ArrowDown: () => plot?.pick(1),
    Home: () => plot?.step(-far),
    End: () => plot?.step(far),
    Enter: () => plot?.pin(),
    ' ': () => plot?.pin(),
  }
  if (crosshair.now.pinned) actions.Escape = () => crosshair.unpin()
  const action = event.ctrlKey || event.altKey || event.metaKey ? undefined : actions[event.key]
  if (!action) return
  event.preventDefault()
  event.stopPropagation()
  action()
}

/** One metric over its runs. The panel around it gives size and settings. */
export function Chart(props: ChartProps): ReactElement {
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  const { series, loading, failed } = useChartSeries(props)
  const drawn = props.asTable ? [] : series
  const { reading, plot } = usePlot(props, drawn, root)
  const notFinite = series.reduce((sum, one) => sum + one.notFinite, 0)
  const nonpositive = props.settings.log ? countNonpositive(series.map((one) => one.last)) : 0
  const label = chartLabel(props.metric, series)
  const shown = reading && reading.points.length > 0 ? reading : null
  const range = rangeOf(series.map((one) => one.x)) ?? { min: 0, max: 0 }
  const said = shown ? readingText(shown, props) : label
  return (
    <div className="chart" data-points={series.reduce((sum, one) => sum + one.count, 0)}>
      {props.asTable && series.length > 0 && <ChartTable metric={props.metric} series={series} />}
      <div
        className="chart-root"
        ref={root}
        tabIndex={series.length > 0 && !props.asTable ? 0 : undefined}
        role="slider" // one stands on an x, arrows move
        aria-valuemin={range.min}
        aria-valuemax={range.max}
        aria-valuenow={reading?.at ?? range.max}
        aria-valuetext={said}
        aria-labelledby={id}
        hidden={props.asTable || series.length === 0}
        onKeyDown={(event) => onChartKey(event, plot.current, props.crosshair)}
        onBlur={() => plot.current?.leave()}
      />
      <span id={id} className="visually-hidden">
        {props.metric}
      </span>
      {series.length === 0 && !loading && (
        <div className="chart-none">{failed ? t('error.unexpected') : t('charts.no_points')}</div>
      )}
      {shown && !props.asTable && (
        <Tooltip
          metric={props.metric}
          reading={shown}
          kind={kindOf(props)}
          axis={props.axis}
          width={props.size.width}
          parts={props.parts}
          onUnpin={() => props.crosshair.unpin()}
        />
      )}
      {(notFinite > 0 || nonpositive > 0 || props.axisDiffers) && (
        <div className="chart-note">
          {props.axisDiffers && <span>{t('charts.axis_differs', { metric: props.axis })}</span>}
          {notFinite > 0 && <span>{t('charts.not_finite', { n: notFinite })}</span>}
          {nonpositive > 0 && <span>{t('charts.nonpositive', { n: nonpositive })}</span>}
        </div>
      )}
    </div>
  )
}
