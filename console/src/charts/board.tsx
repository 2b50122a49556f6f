import { type ReactElement, useEffect, useMemo, useRef, useState } from 'react'
import type { Metric } from '../api/client'
import { type MetricKind, useMetrics, type XAxis } from '../api/queries'
import { t } from '../base/i18n'
import { bindKeys } from '../base/keys'
import { Chart, type ChartRun, type ChartSettings } from './chart'
import { Crosshair } from './core/crosshair'
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
  metric: Metric
  crosshair: Crosshair
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
  return (
    <section
      className={`panel ${full ? 'panel-full' : ''}`}
      ref={frame}
      aria-label={props.metric.name}
    >
      <header className="panel-head">
        <h3 title={props.metric.name}>{props.metric.name}</h3>
        <span className="panel-tools">
          {props.zoom && (
            <Button
              icon="reset"
              label={t('charts.reset_zoom')}
              onClick={() => props.onZoom(null)}
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
          settings={props.settings}
          zoom={props.zoom}
          onZoom={props.onZoom}
          crosshair={props.crosshair}
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
  props: Omit<PanelProps, 'metric'> & { name: string; metrics: Metric[] },
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
function useUnpinKey(crosshair: Crosshair): void {
  const [pinned, setPinned] = useState(false)
  useEffect(() => crosshair.watch((cursor) => setPinned(cursor.pinned !== null)), [crosshair])
  useEffect(
    () => (pinned ? bindKeys({ Escape: () => crosshair.unpin() }) : undefined),
    [pinned, crosshair],
  )
}

/** All metrics of the runs as panels, by prefix, with one crosshair and one zoom. */
export function Board(props: BoardProps): ReactElement | null {
  const ids = useMemo(() => props.runs.map((run) => run.id), [props.runs])
  const metrics = useMetrics(ids, props.kind)
  const [crosshair] = useState(() => new Crosshair())
  useUnpinKey(crosshair)
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
        <Section key={section.name} {...panel} {...section} crosshair={crosshair} />
      ))}
    </div>
  )
}

export type { XAxis }
