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
const BAR_LEAST = 0.4 // percent: a job that has just begun is seen too
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

const stripOf = (
  name: string,
  series: NodeSeries,
  top: number,
  now: number | null | undefined,
  text: (value: number) => string,
): StripProps => ({ name, series, top, now: now ?? null, text })

function Strips({ rows }: { rows: StripProps[] }): ReactElement {
  return (
    <>
      {rows.map((row) => (
        <Strip key={row.name} {...row} />
      ))}
    </>
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
          const left = Math.min(place(job.from, samples), 100 - BAR_LEAST)
          const end = job.running ? 100 : place(job.to, samples)
          const style = { left: `${left}%`, width: `${Math.max(end - left, BAR_LEAST)}%` }
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
  const { now } = gpu
  const memory = Math.max(gpu.memory_bytes, 1)
  const heat = Math.max(100, ...known(read.celsius.max))
  const power = Math.max(100, ...known(read.watts.max))
  const rows: StripProps[] = [
    stripOf(t('node.percent'), read.percent, 100, now.percent, percent),
    stripOf(t('node.memory'), read.memory_bytes, memory, now.memory_bytes, formatBytes),
    stripOf(t('node.celsius'), read.celsius, heat, now.celsius, celsius),
    stripOf(t('node.watts'), read.watts, power, now.watts, watts),
  ]
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
      <Strips rows={rows} />
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
  const { now } = props
  const { cpu_percent: cpu, memory_bytes: memory, disk_bytes: disk } = props.samples.node
  const memoryTop = Math.max(props.memoryBytes, 1)
  const diskTop = Math.max(props.diskBytes, 1)
  const rows: StripProps[] = [
    stripOf(t('node.column_cpu'), cpu, 100, now?.cpu_percent, percent),
    stripOf(t('node.memory'), memory, memoryTop, now?.memory_bytes, formatBytes),
    stripOf(t('node.disk'), disk, diskTop, now?.disk_bytes, formatBytes),
  ]
  return (
    <section className="gpu-strips" aria-label={t('node.over_time')}>
      <h2>{t('node.over_time')}</h2>
      <Strips rows={rows} />
    </section>
  )
}
