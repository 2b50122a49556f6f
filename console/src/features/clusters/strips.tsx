// A GPU over time: four strips, and below them the jobs that had it.
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { NodeGpu, NodeSamples, NodeSeries } from '../../api/client'
import {
  formatBytes,
  formatClock,
  formatInteger,
  formatMoment,
  formatTime,
} from '../../base/format'
import { t } from '../../base/i18n'
import { Icon } from '../../widgets/icon'
import { illText } from './order'

const HEIGHT = 36
type Times = Pick<NodeSamples, 'from' | 'to'>

/** Lines of neighbouring buckets; where nothing was read there is a gap. */
export function pathOf(values: (number | null)[], top: number): string {
  let path = ''
  let open = false
  values.forEach((value, i) => {
    if (value === null) {
      open = false
      return
    }
    const y = HEIGHT - (Math.min(value, top) / top) * (HEIGHT - 1)
    path += `${open ? 'L' : 'M'}${i + 0.5} ${y.toFixed(1)}`
    if (!open && (values[i + 1] ?? null) === null) path += 'h0.6'
    open = true
  })
  return path
}

/** From the least to the greatest of each bucket. */
function bandOf(series: NodeSeries, top: number): string {
  const y = (value: number): string =>
    (HEIGHT - (Math.min(value, top) / top) * (HEIGHT - 1)).toFixed(1)
  let path = ''
  series.min.forEach((low, i) => {
    const high = series.max[i]
    if (low === null || high === null || high === undefined || low === high) return
    path += `M${i + 0.5} ${y(low)}V${y(high)}`
  })
  return path
}

function known(values: (number | null)[]): number[] {
  return values.filter((value): value is number => value !== null)
}

interface StripProps {
  name: string
  series: NodeSeries
  top: number
  now: number | null
  text: (value: number) => string
}

function Strip({ name, series, top, now, text }: StripProps): ReactElement {
  const lows = known(series.min)
  const said =
    lows.length === 0
      ? t('node.strip_none', { what: name })
      : t('node.strip', {
          what: name,
          now: now === null ? '–' : text(now),
          min: text(Math.min(...lows)),
          max: text(Math.max(...known(series.max))),
        })
  return (
    <div className="strip">
      <span className="strip-name">{name}</span>
      <svg
        className="strip-chart"
        viewBox={`0 0 ${series.mean.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={said}
      >
        <title>{said}</title>
        <path className="strip-band" d={bandOf(series, top)} />
        <path className="strip-line" d={pathOf(series.mean, top)} />
      </svg>
      <span className="strip-now num">{now === null ? '–' : text(now)}</span>
    </div>
  )
}

const place = (at: string, times: Times): number => {
  const from = Date.parse(times.from)
  const share = (Date.parse(at) - from) / (Date.parse(times.to) - from)
  return Math.max(0, Math.min(100, share * 100))
}

/** Jobs that had the GPU, as bars on the same time. */
function Bars({ gpu, samples }: { gpu: NodeGpu; samples: NodeSamples }): ReactElement {
  const jobs = samples.jobs.filter((job) => job.gpus.includes(gpu.place))
  return (
    <div className="strip">
      <span className="strip-name">{t('node.column_jobs')}</span>
      <ul className="bars" aria-label={t('node.bars', { place: gpu.place })}>
        {jobs.map((job) => {
          const left = place(job.from, samples)
          const end = job.running ? 100 : place(job.to, samples)
          const style = { left: `${left}%`, width: `${Math.max(end - left, 0.4)}%` }
          const name = job.name || job.job || t('node.job_other')
          const title = `${name} · ${formatTime(job.from)} – ${job.running ? '' : formatTime(job.to)}`
          return (
            <li key={`${job.job}${job.from}`} className="bar-item" style={style} title={title}>
              {job.job ? <Link href={`/jobs/${job.job}`}>{name}</Link> : <span>{name}</span>}
            </li>
          )
        })}
      </ul>
      <span className="strip-now" />
    </div>
  )
}

export function TimeAxis({ times, long }: { times: Times; long: boolean }): ReactElement {
  const from = Date.parse(times.from)
  const span = Date.parse(times.to) - from
  const at = [0, 0.25, 0.5, 0.75, 1].map((part) => new Date(from + part * span).toISOString())
  return (
    <div className="strip strip-axis" aria-hidden="true">
      <span className="strip-name" />
      <span className="strip-times">
        {at.map((time) => (
          <span key={time}>{long ? formatMoment(time) : formatClock(time)}</span>
        ))}
      </span>
      <span className="strip-now" />
    </div>
  )
}

const celsius = (value: number): string => `${formatInteger(Math.round(value))} °C`
const watts = (value: number): string => `${formatInteger(Math.round(value))} W`
const percent = (value: number): string => `${formatInteger(Math.round(value))} %`

export function GpuStrips(props: { gpu: NodeGpu; samples: NodeSamples }): ReactElement | null {
  const { gpu, samples } = props
  const read = samples.gpus.find((one) => one.place === gpu.place)
  if (!read) return null
  const power = Math.max(100, ...known(read.watts.max))
  const heat = Math.max(100, ...known(read.celsius.max))
  return (
    <section className="gpu-strips" aria-label={t('node.gpu', { place: gpu.place })}>
      <h2>
        {t('node.gpu', { place: gpu.place })} <span className="muted">{gpu.name || gpu.uuid}</span>
        {gpu.memory_kind === 'unified' && <span className="muted"> · {t('node.unified')}</span>}
        {gpu.ill && (
          <span className="gpu-ill-text">
            <Icon name="warning" /> {illText(gpu.ill)}
          </span>
        )}
      </h2>
      <Strip
        name={t('node.percent')}
        series={read.percent}
        top={100}
        now={gpu.now.percent}
        text={percent}
      />
      <Strip
        name={t('node.memory')}
        series={read.memory_bytes}
        top={Math.max(gpu.memory_bytes, 1)}
        now={gpu.now.memory_bytes}
        text={formatBytes}
      />
      <Strip
        name={t('node.celsius')}
        series={read.celsius}
        top={heat}
        now={gpu.now.celsius}
        text={celsius}
      />
      <Strip
        name={t('node.watts')}
        series={read.watts}
        top={power}
        now={gpu.now.watts}
        text={watts}
      />
      <Bars gpu={gpu} samples={samples} />
    </section>
  )
}

/** The machine itself, the same way. */
export function NodeStrips(props: {
  samples: NodeSamples
  memoryBytes: number
  diskBytes: number
  now: { cpu_percent: number | null; memory_bytes: number | null; disk_bytes: number | null } | null
}): ReactElement {
  const { samples, now } = props
  return (
    <section className="gpu-strips" aria-label={t('node.over_time')}>
      <h2>{t('node.over_time')}</h2>
      <Strip
        name={t('node.column_cpu')}
        series={samples.node.cpu_percent}
        top={100}
        now={now?.cpu_percent ?? null}
        text={percent}
      />
      <Strip
        name={t('node.memory')}
        series={samples.node.memory_bytes}
        top={Math.max(props.memoryBytes, 1)}
        now={now?.memory_bytes ?? null}
        text={formatBytes}
      />
      <Strip
        name={t('node.disk')}
        series={samples.node.disk_bytes}
        top={Math.max(props.diskBytes, 1)}
        now={now?.disk_bytes ?? null}
        text={formatBytes}
      />
    </section>
  )
}
