// A line chart: uPlot gives axes, cursor and zoom; lines and bands are painted here, straight from
// the series' own columns, because series have different x values and uPlot would want them joined.
import uPlot from 'uplot'
import { formatDuration, formatMetric, formatNumber, formatTime } from '../../base/format'
import type { Crosshair, Cursor } from './crosshair'
import {
  nearest,
  nearestTo,
  padRange,
  type Range,
  rangeOf,
  type Series,
  smooth,
  stepFrom,
  timeSteps,
} from './series'

export type XKind = 'step' | 'time' | 'relative' | 'metric'

export interface PlotView {
  series: Series[]
  xKind: XKind
  axis: string // the name of the metric that it is drawn over, else empty
  log: boolean
  smoothing: number
  zoom: Range | null
}

export interface PlotColours {
  text: string
  grid: string
  cursor: string
  surface: string
}

export interface PlotPoint {
  series: Series
  x: number
  value: number
}

/** What the crosshair of a chart stands on. */
export interface Reading {
  at: number
  points: PlotPoint[] // greatest first
  near: string | null // the line that is pointed at
  left: number // px in the chart
  pinned: boolean
}

export interface PlotEvents {
  onReading: (reading: Reading | null) => void
  onZoom: (range: Range | null) => void
}

const BAND_SERIES_MAX = 20
const NEAR_PX = 40
const CLICK_PX = 4 // a press that moves further is a drag
const AXIS_FONT = '11px system-ui, sans-serif'

/** `axis`: the metric of the kind 'metric'. */
export function formatX(kind: XKind, value: number, axis = ''): string {
  if (kind === 'metric') return `${axis} ${formatMetric(axis, value, 6)}`
  if (kind === 'time') return formatTime(value)
  if (kind === 'relative') return formatDuration(value)
  return formatNumber(value, 10)
}

export class Plot {
  #plot: uPlot
  #view: PlotView
  #lines: Float64Array[] = [] // smoothed, in the order of the series
  #colours: PlotColours
  #events: PlotEvents
  #crosshair: Crosshair
  #metric: string
  #stop: () => void
  #frame = 0
  #at: number | null = null // the pointer's or the keyboard's x, when it is in this chart
  #near: string | null = null // the line that is pointed at
  #pointing = false // the pointer is over this chart
  #pressed = 0 // px where the button went down
  #destroyed = false

  constructor(
    root: HTMLElement,
    parts: {
      view: PlotView
      colours: PlotColours
      events: PlotEvents
      crosshair: Crosshair
      metric: string // its name says what its values are
      width: number
      height: number
    },
  ) {
    this.#metric = parts.metric
    this.#view = parts.view
    this.#colours = parts.colours
    this.#events = parts.events
    this.#crosshair = parts.crosshair
    this.#lines = this.#smoothed()
    this.#plot = new uPlot(this.#options(parts.width, parts.height), this.#frameData(), root)
    this.#listen(this.#plot.over)
    this.#stop = parts.crosshair.watch((cursor) => {
      if (cursor.source !== this) this.#at = null
      this.redraw()
      this.#tell()
    })
  }

  #listen(over: HTMLElement): void {
    over.addEventListener('dblclick', () => this.#events.onZoom(null))
    over.addEventListener('mousedown', (event) => {
      this.#pressed = event.clientX
    })
    over.addEventListener('click', (event) => {
      if (Math.abs(event.clientX - this.#pressed) < CLICK_PX) this.pin()
    })
  }

  /** Pins the crosshair where it is; again at the same place takes the pin off. */
  pin(): void {
    const { pin, pinned } = this.#crosshair.now
    if (this.#at === null) {
      if (pinned === this) this.#crosshair.unpin()
      return
    }
    const same = pinned === this && pin !== null && this.#pixelsApart(pin, this.#at) < CLICK_PX
    if (same) this.#crosshair.unpin()
    else this.#crosshair.pin(this.#at, this)
  }

  #pixelsApart(a: number, b: number): number {
    return Math.abs(this.#plot.valToPos(a, 'x') - this.#plot.valToPos(b, 'x'))
  }

  /** Takes the crosshair to another point of the line that is pointed at: the keyboard's way. */
  step(by: number): void {
    const series = this.#view.series.find(({ id }) => id === this.#near) ?? this.#view.series[0]
    if (!series) return
    const x = stepFrom(series.x, this.#own(), by, this.#xRange())
    if (x !== null) this.#go(x)
  }

  /** Points at the next line up (-1) or down (1). */
  pick(by: number): void {
    const at = this.#own()
    if (at === null) {
      this.step(0)
      return
    }
    const ids = this.#pointsAt(at).map(({ series }) => series.id)
    const next = ids[Math.min(ids.length - 1, Math.max(0, ids.indexOf(this.#near ?? '') + by))]
    this.#near = next ?? this.#near
    this.redraw()
    this.#tell()
  }

  /** The pointer or the focus is gone. */
  leave(): void {
    this.#near = this.#crosshair.now.pinned === this ? this.#near : null
    this.#at = null
    this.#crosshair.move(null, this)
  }

  #own(): number | null {
    const { pin, pinned } = this.#crosshair.now
    return this.#at ?? (pinned === this ? pin : null)
  }

  #go(x: number): void {
    this.#at = x
    const { pinned } = this.#crosshair.now
    if (pinned === this) this.#crosshair.pin(x, this)
    this.#crosshair.move(x, this)
  }

  /** Says what there is to read: at the pin when it is here, else where the pointer is. */
  #tell(): void {
    const { pin, pinned } = this.#crosshair.now
    const mine = pinned === this
    const at = mine ? pin : this.#at
    if (at === null) {
      this.#events.onReading(null)
      return
    }
    const left = this.#plot.valToPos(at, 'x') + this.#plot.over.offsetLeft
    const points = this.#pointsAt(at)
    this.#events.onReading({ at, points, near: this.#near, left, pinned: mine })
  }

  destroy(): void {
    this.#destroyed = true
    cancelAnimationFrame(this.#frame)
    this.#stop()
    this.#crosshair.leave(this)
    this.#plot.destroy()
  }

  resize(width: number, height: number): void {
    if (width !== this.#plot.width || height !== this.#plot.height)
      this.#plot.setSize({ width, height })
  }

  update(view: PlotView, colours: PlotColours): void {
    this.#view = view
    this.#colours = colours
    this.#lines = this.#smoothed()
    this.#plot.setData(this.#frameData())
    if (this.#own() !== null) this.#tell()
  }

  redraw(): void {
    if (this.#frame || this.#destroyed) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#plot.redraw(false, false)
    })
  }

  #smoothed(): Float64Array[] {
    return this.#view.series.map((series) => smooth(series.last, this.#view.smoothing))
  }

  #bands(): boolean {
    return this.#view.series.length <= BAND_SERIES_MAX
  }

  #xRange(): Range {
    if (this.#view.zoom) return this.#view.zoom
    const range = rangeOf(this.#view.series.map((series) => series.x)) ?? { min: 0, max: 1 }
    return range.min === range.max ? { min: range.min - 0.5, max: range.max + 0.5 } : range
  }

  #yRange(): Range {
    // The line decides, outliers in the band may be cut: 99 % of what is looked at is the line.
    const columns =
      this.#bands() && this.#view.smoothing === 0
        ? this.#view.series.flatMap((series) => [series.min, series.max])
        : this.#lines
    const range = rangeOf(columns, this.#view.log)
    if (!range) return this.#view.log ? { min: 0.1, max: 10 } : { min: 0, max: 1 }
    return padRange(range, this.#view.log)
  }

  /** uPlot only needs the corners. */
  #frameData(): uPlot.AlignedData {
    const x = this.#xRange()
    const y = this.#yRange()
    return [
      [x.min, x.max],
      [y.min, y.max],
    ]
  }

  #options(width: number, height: number): uPlot.Options {
    const axis = {
      stroke: () => this.#colours.text,
      font: AXIS_FONT,
      grid: { stroke: () => this.#colours.grid, width: 1 },
      ticks: { show: false },
    }
    return {
      width,
      height,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: {
        x: false, // painted with the lines, in all charts alike
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
      },
      scales: {
        x: { time: false, range: () => this.#pair(this.#xRange()) },
        y: { range: () => this.#pair(this.#yRange()), distr: this.#view.log ? 3 : 1 },
      },
      axes: [
        {
          ...axis,
          size: 24,
          gap: 4,
          space: 70,
          ...(this.#view.axis
            ? { label: this.#view.axis, labelSize: 16, labelGap: 0, labelFont: AXIS_FONT }
            : {}),
          ...(this.#view.xKind === 'time' || this.#view.xKind === 'relative'
            ? { incrs: timeSteps }
            : {}),
          values: (_, ticks) => ticks.map((v) => this.#tick(v)),
        },
        {
          ...axis,
          size: 52,
          gap: 6,
          space: 30,
          values: (_, ticks) =>
            ticks.map((v) => (v === null ? '' : formatMetric(this.#metric, v, 4))),
        },
      ],
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: {
        drawAxes: [(u) => this.#paint(u)],
        setCursor: [(u) => this.#hover(u)],
        setSelect: [(u) => this.#select(u)],
      },
    }
  }

  #pair(range: Range): [number, number] {
    return [range.min, range.max]
  }

  #tick(value: number): string {
    if (this.#view.xKind === 'relative') return formatDuration(value)
    if (this.#view.xKind === 'time') {
      const range = this.#xRange()
      const options: Intl.DateTimeFormatOptions =
        range.max - range.min > 86_400_000
          ? { month: 'short', day: 'numeric' }
          : {
              hour: '2-digit',
              minute: '2-digit',
              ...(range.max - range.min < 300_000 ? { second: '2-digit' } : {}),
            }
      return new Intl.DateTimeFormat(document.documentElement.lang, options).format(value)
    }
    if (this.#view.xKind === 'metric') return formatMetric(this.#view.axis, value, 4)
    return Number.isInteger(value) ? formatNumber(value, 6) : ''
  }

  #paint(u: uPlot): void {
    const { ctx, bbox } = u
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
    ctx.clip()
    const order = this.#view.series.map((_, i) => i)
    const top = this.#view.series.findIndex((series) => series.id === this.#near)
    if (top >= 0) order.push(...order.splice(top, 1))
    for (const i of order) this.#paintSeries(u, i, top >= 0 && order.length > 1)
    this.#paintCursor(u, this.#crosshair.now)
    ctx.restore()
  }

  #paintSeries(u: uPlot, index: number, pointing: boolean): void {
    const series = this.#view.series[index]
    const line = this.#lines[index]
    if (!series || !line) return
    const { ctx } = u
    const near = pointing && series.id === this.#near
    const dimmed = pointing && !near
    const dpr = devicePixelRatio || 1
    if (this.#bands() && !dimmed) this.#paintBand(u, series)
    if (this.#view.smoothing > 0 && !dimmed) {
      ctx.globalAlpha = 0.25
      this.#paintLine(u, series, series.last, dpr)
    }
    ctx.globalAlpha = dimmed ? 0.35 : 1
    this.#paintLine(u, series, line, (near ? 2.5 : 1.5) * dpr)
    ctx.globalAlpha = 1
  }

  #paintBand(u: uPlot, series: Series): void {
    const { ctx } = u
    ctx.beginPath()
    let drawn = 0
    for (let i = 0; i < series.x.length; i++) {
      const value = series.max[i] as number
      if (!this.#drawable(value)) continue
      ctx.lineTo(u.valToPos(series.x[i] as number, 'x', true), u.valToPos(value, 'y', true))
      drawn++
    }
    for (let i = series.x.length - 1; i >= 0; i--) {
      const value = series.min[i] as number
      if (!this.#drawable(value)) continue
      ctx.lineTo(u.valToPos(series.x[i] as number, 'x', true), u.valToPos(value, 'y', true))
    }
    if (drawn < 2) return
    ctx.closePath()
    ctx.globalAlpha = 0.14
    ctx.fillStyle = series.colour
    ctx.fill()
    ctx.globalAlpha = 1
  }

  #drawable(value: number): boolean {
    return Number.isFinite(value) && (!this.#view.log || value > 0)
  }

  #paintLine(u: uPlot, series: Series, values: Float64Array, width: number): void {
    const { ctx } = u
    const gaps: number[] = []
    let drawn = 0
    let lastX = 0
    let lastY = 0
    ctx.beginPath()
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number
      if (!this.#drawable(value)) {
        if (Number.isNaN(value) || !Number.isFinite(value)) gaps.push(series.x[i] as number)
        continue
      }
      lastX = u.valToPos(series.x[i] as number, 'x', true)
      lastY = u.valToPos(value, 'y', true)
      if (drawn === 0) ctx.moveTo(lastX, lastY)
      else ctx.lineTo(lastX, lastY)
      drawn++
    }
    ctx.strokeStyle = series.colour
    ctx.lineWidth = width
    ctx.lineJoin = 'round'
    ctx.stroke()
    if (drawn === 1) this.#dot(u, lastX, lastY, series.colour)
    for (const x of gaps) this.#mark(u, u.valToPos(x, 'x', true), series.colour)
  }

  #dot(u: uPlot, x: number, y: number, colour: string): void {
    const { ctx } = u
    ctx.beginPath()
    ctx.arc(x, y, 3 * (devicePixelRatio || 1), 0, 2 * Math.PI)
    ctx.fillStyle = colour
    ctx.fill()
  }

  /** What is no number is marked on the floor, not left out in silence. */
  #mark(u: uPlot, x: number, colour: string): void {
    const { ctx, bbox } = u
    const size = 4 * (devicePixelRatio || 1)
    const floor = bbox.top + bbox.height - 1
    ctx.beginPath()
    ctx.moveTo(x - size, floor)
    ctx.lineTo(x + size, floor)
    ctx.lineTo(x, floor - 1.6 * size)
    ctx.closePath()
    ctx.fillStyle = colour
    ctx.fill()
  }

  #paintCursor(u: uPlot, { x, pin }: Cursor): void {
    if (x !== null && x !== pin) this.#paintCrosshair(u, x)
    if (pin !== null) this.#paintCrosshair(u, pin)
  }

  #paintCrosshair(u: uPlot, at: number): void {
    const { ctx, bbox } = u
    const x = Math.round(u.valToPos(at, 'x', true))
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.strokeStyle = this.#colours.cursor
    ctx.lineWidth = 1
    ctx.stroke()
    for (const point of this.#pointsAt(at)) {
      this.#dot(
        u,
        u.valToPos(point.x, 'x', true),
        u.valToPos(point.value, 'y', true),
        point.series.colour,
      )
    }
  }

  #pointsAt(at: number): PlotPoint[] {
    const points: PlotPoint[] = []
    const range = this.#xRange()
    const reach = (range.max - range.min) / 10
    for (const [i, series] of this.#view.series.entries()) {
      const index = nearest(series.x, at)
      if (index < 0) continue
      const x = series.x[index] as number
      const value = this.#lines[i]?.[index] ?? Number.NaN
      if (Math.abs(x - at) <= reach) points.push({ series, x, value })
    }
    const rank = (value: number): number => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value)
    return points.sort((a, b) => rank(b.value) - rank(a.value) || 0)
  }

  #hover(u: uPlot): void {
    const left = u.cursor.left ?? -1
    if (left < 0) {
      // Also comes when data changes: the keyboard's place is not the pointer's to leave.
      if (this.#pointing) this.leave()
      this.#pointing = false
      return
    }
    this.#pointing = true
    const at = u.posToVal(left, 'x')
    const pinnedHere = this.#crosshair.now.pinned === this
    if (!pinnedHere) this.#near = this.#nearAt(u, at)
    this.#at = at
    this.#crosshair.move(at, this)
  }

  /** The line within reach of the pointer. */
  #nearAt(u: uPlot, at: number): string | null {
    const points = this.#pointsAt(at)
    const heights = points.map((point) => u.valToPos(point.value, 'y'))
    return points[nearestTo(heights, u.cursor.top ?? 0, NEAR_PX)]?.series.id ?? null
  }

  #select(u: uPlot): void {
    if (u.select.width < 4) return
    const from = u.posToVal(u.select.left, 'x')
    const to = u.posToVal(u.select.left + u.select.width, 'x')
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    this.#events.onZoom({ min: from, max: to })
  }
}
