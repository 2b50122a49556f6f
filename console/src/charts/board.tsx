import { type ReactElement, useEffect, useMemo, useRef, useState } from 'react'
import type { SharedMetric } from '../api/metrics'
import { type MetricKind, useMetrics, type XAxis } from '../api/queries'
import { t } from '../base/i18n'
import { bindKeys } from '../base/keys'
import { Chart, type ChartRun, type ChartSettings } from './chart'
import { Crosshairs } from './core/crosshair'
import { type Range, sectionsOf } from './core/series'
import type { ChartParts } from './parts'

const PER_SECTION = 24

interface BoardProps {
  project: string
  runs: ChartRun[]
  kind: MetricKind
  settings: ChartSettings
  filter: string
  zoom: Range | null
  onZoom: (range: Range | null) => void
  parts: ChartParts // controls come from above: charts know no widgets
  empty: ReactElement
}

interface PanelProps extends Omit<BoardProps, 'filter' | 'kind' | 'empty'> {
  metric: SharedMetric
  crosshairs: Crosshairs
  zooms: Zooms
}

/** Ranges of axes that are metrics: each has its own, beside that of the steps. */
interface Zooms {
  of: (axis: string) => Range | null
  set: (axis: string, range: Range | null) => void
}

/** What a panel is drawn over: the metric's own axis, unless somebody chose another one. */
function useAxis(props: PanelProps) {
  const [back, setBack] = useState(false)
  const own = props.settings.x === 'step' ? props.metric.axis : ''
  const axis = back ? '' : own
  return {
    own,
    axis,
    toggle: () => setBack(!back),
    zoom: axis ? props.zooms.of(axis) : props.zoom,
    setZoom: axis ? (range: Range | null) => props.zooms.set(axis, range) : props.onZoom,
  }
}

function Panel(props: PanelProps): ReactElement {
  const frame = useRef<HTMLElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const { parts } = props
  const seen = parts.useSeen(frame)
  const size = parts.useSize(body)
  const dark = parts.useDark()
  const [asTable, setAsTable] = useState(false)
  const [full, setFull] = useState(false)
  useEffect(() => (full ? bindKeys({ Escape: () => setFull(false) }) : undefined), [full])
  const allRuns = useMemo(() => props.runs.map((run) => run.id), [props.runs])
  const Button = parts.IconButton
  const { own, axis, toggle, zoom, setZoom } = useAxis(props)
  return (
    <section
      className={`panel ${full ? 'panel-full' : ''}`}
      ref={frame}
      aria-label={props.metric.name}
    >
      <header className="panel-head">
        <h3 title={props.metric.name}>{props.metric.name}</h3>
        <span className="panel-tools">
          {zoom && (
            <Button icon="reset" label={t('charts.reset_zoom')} onClick={() => setZoom(null)} />
          )}
          {own && (
            <Button
              icon="axis"
              label={axis ? t('charts.over_steps') : t('charts.over_metric', { metric: own })}
              onClick={toggle}
            />
          )}
          <Button
            icon={asTable ? 'chart' : 'table'}
            label={asTable ? t('common.show_as_chart') : t('common.show_as_table')}
            onClick={() => setAsTable(!asTable)}
          />
          <Button
            icon={full ? 'close' : 'full'}
            label={full ? t('charts.leave_full_screen') : t('charts.full_screen')}
            onClick={() => setFull(!full)}
          />
        </span>
      </header>
      <div className="panel-body" ref={body}>
        <Chart
          project={props.project}
          runs={props.runs}
          allRuns={allRuns}
          metric={props.metric.name}
          axis={axis}
          axisDiffers={own !== '' && axis !== '' && props.metric.axisDiffers}
          settings={props.settings}
          zoom={zoom}
          onZoom={setZoom}
          crosshair={props.crosshairs.of(axis)}
          dark={dark}
          seen={seen}
          asTable={asTable}
          size={size}
          parts={parts}
        />
      </div>
    </section>
  )
}

function Section(
  props: Omit<PanelProps, 'metric'> & { name: string; metrics: SharedMetric[] },
): ReactElement {
  const [shown, setShown] = useState(PER_SECTION)
  const { name, metrics, ...panel } = props
  return (
    <details className="section" open>
      <summary>
        <h2 className="section-name">{name || t('charts.section_other')}</h2>
        <span className="section-count">{metrics.length}</span>
      </summary>
      <div className="panels">
        {metrics.slice(0, shown).map((metric) => (
          <Panel key={metric.name} {...panel} metric={metric} />
        ))}
      </div>
      {metrics.length > shown && (
        <button
          type="button"
          className="button button-quiet"
          onClick={() => setShown(shown + PER_SECTION)}
        >
          {t('charts.more', { n: metrics.length - shown })}
        </button>
      )}
    </details>
  )
}

/** While something is pinned, Escape takes the pin off, wherever the focus is. */
function useUnpinKey(crosshairs: Crosshairs): void {
  const [pinned, setPinned] = useState(false)
  useEffect(() => crosshairs.watch(setPinned), [crosshairs])
  useEffect(
    () => (pinned ? bindKeys({ Escape: () => crosshairs.unpin() }) : undefined),
    [pinned, crosshairs],
  )
}

function useZooms(): Zooms {
  const [ranges, setRanges] = useState<ReadonlyMap<string, Range | null>>(new Map())
  return {
    of: (axis) => ranges.get(axis) ?? null,
    set: (axis, range) => setRanges((before) => new Map(before).set(axis, range)),
  }
}

/** All metrics of the runs as panels, by prefix, with one crosshair and one zoom for each axis. */
export function Board(props: BoardProps): ReactElement | null {
  const ids = useMemo(() => props.runs.map((run) => run.id), [props.runs])
  const metrics = useMetrics(ids, props.kind)
  const [crosshairs] = useState(() => new Crosshairs())
  const zooms = useZooms()
  useUnpinKey(crosshairs)
  const needle = props.filter.trim().toLowerCase()
  const found = useMemo(
    () => (metrics.data ?? []).filter((metric) => metric.name.toLowerCase().includes(needle)),
    [metrics.data, needle],
  )
  if (metrics.data === undefined) return metrics.error ? props.empty : null
  if (metrics.data.length === 0) return props.empty
  if (found.length === 0) return <p className="empty-hint board-none">{t('charts.no_metric')}</p>
  const { filter: _filter, kind: _kind, empty: _empty, ...panel } = props
  return (
    <div className="board">
      {(props.kind === 'system'
        ? [{ name: t('run.tab_system'), metrics: found }]
        : sectionsOf(found)
      ).map((section) => (
        <Section key={section.name} {...panel} {...section} crosshairs={crosshairs} zooms={zooms} />
      ))}
    </div>
  )
}

export type { XAxis }
