import {
  type ReactElement,
  type UIEvent,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { Writer } from '../../api/client'
import { useWriters } from '../../api/queries'
import { parseLine, plainLine } from '../../base/ansi'
import { formatInteger, formatTime } from '../../base/format'
import { t } from '../../base/i18n'
import { IconButton } from '../button'
import { Failure, Loading } from '../empty'
import { SearchField, Select } from '../field'
import { useShortcuts, useSize } from '../hooks'
import { Icon } from '../icon'
import type { LogLines } from './lines'
import { type LoadedLog, useLog } from './load'

const LINE_PX = 18
const OVERSCAN = 10
// Firefox stops at about 17.9 million pixels: beyond this many lines the scroll bar is scaled.
const LINES_TALL = 800_000

function Line({ text, match }: { text: string; match: string }): ReactElement {
  const plain = match ? plainLine(text) : ''
  const at = match ? plain.toLowerCase().indexOf(match.toLowerCase()) : -1
  if (at >= 0) {
    return (
      <>
        {plain.slice(0, at)}
        <mark>{plain.slice(at, at + match.length)}</mark>
        {plain.slice(at + match.length)}
      </>
    )
  }
  return (
    <>
      {parseLine(text).map((span, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: spans of a line never move
        <span key={i} className={span.style || undefined}>
          {span.text}
        </span>
      ))}
    </>
  )
}

function Window(props: {
  lines: LogLines
  version: number
  first: number
  shown: number
  match: string
  current: number
}): ReactElement {
  const { lines, first, shown, match, current } = props
  const rows: ReactElement[] = []
  for (let i = first; i < Math.min(first + shown, lines.count); i++) {
    rows.push(
      <div
        key={i}
        className={`log-line ${i === current ? 'log-current' : ''}`}
        style={{ top: i * LINE_PX }}
      >
        <span className="log-number" aria-hidden="true">
          {i + 1 + lines.dropped}
        </span>
        <span className="log-text">
          <Line text={lines.line(i)} match={match} />
        </span>
      </div>,
    )
  }
  return <>{rows}</>
}

interface Tools {
  log: LoadedLog
  run: string
  search: string
  setSearch: (text: string) => void
  found: number[]
  at: number
  step: (by: number) => void
  following: boolean
  follow: (on: boolean) => void
  picker: ReactElement | null
}

function Toolbar(props: Tools): ReactElement {
  const { log, found } = props
  return (
    <div className="log-tools">
      <SearchField
        label={t('log.search')}
        value={props.search}
        onChange={props.setSearch}
        data-filter=""
        onKeyDown={(event) => {
          if (event.key === 'Enter') props.step(event.shiftKey ? -1 : 1)
          if (event.key === 'Escape') event.currentTarget.blur()
        }}
      />
      {props.search && (
        <>
          <span className="muted" role="status">
            {found.length > 0
              ? `${formatInteger(props.at + 1)} / ${formatInteger(found.length)}`
              : t('log.matches', { n: 0 })}
          </span>
          <IconButton icon="up" label={t('log.previous')} onClick={() => props.step(-1)} />
          <IconButton icon="down" label={t('log.next')} onClick={() => props.step(1)} />
        </>
      )}
      {props.picker}
      <span className="spring" />
      <span className="muted">
        {t('log.lines', { n: log.lines.count })}
        {log.final && `, ${t('log.complete')}`}
      </span>
      {!log.final && (
        <button
          type="button"
          className="button button-plain"
          aria-pressed={props.following}
          onClick={() => props.follow(!props.following)}
        >
          <span className={`follow-dot ${props.following ? 'on' : ''}`} aria-hidden="true" />
          {props.following ? t('log.following') : t('log.follow')}
        </button>
      )}
      <a
        className="button button-plain"
        href={`/api/v1/runs/${props.run}/console`}
        download={`${props.run}.log`}
      >
        <Icon name="download" />
        {t('log.download')}
      </a>
    </div>
  )
}

function useScroll(count: number, version: number) {
  const box = useRef<HTMLDivElement>(null)
  const size = useSize(box)
  const [top, setTop] = useState(0)
  const [following, setFollowing] = useState(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text moves the end
  useLayoutEffect(() => {
    if (following && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [following, version, size.height])
  const onScroll = (event: UIEvent<HTMLDivElement>): void => {
    const element = event.currentTarget
    setTop(element.scrollTop)
    const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 2 * LINE_PX
    setFollowing((before) => (before ? atEnd : before || atEnd))
  }
  const show = (line: number): void => {
    setFollowing(false)
    if (box.current) box.current.scrollTop = Math.max(0, line * LINE_PX - size.height / 2)
  }
  const first = Math.max(0, Math.floor(top / LINE_PX) - OVERSCAN)
  const shown = Math.ceil(size.height / LINE_PX) + 2 * OVERSCAN
  const height = Math.min(count, LINES_TALL) * LINE_PX
  return { box, onScroll, show, first, shown, height, following, setFollowing }
}

/** How a process that printed something is called. */
function nameOf(writer: Writer): string {
  const time = formatTime(writer.started_at)
  if (writer.rank !== null) return t('log.of_rank', { n: writer.rank, time })
  return writer.host ? t('log.of_host', { host: writer.host, time }) : time
}

/** The console text of a run: only visible lines exist, it follows while the run goes on. */
export function LogView({ run }: { run: string }): ReactElement {
  const [chosen, setChosen] = useState('')
  const writers = (useWriters(run).data ?? []).filter((one) => one.console_bytes > 0)
  const log = useLog(run, chosen)
  if (log.loading) return <Loading />
  if (log.error && log.lines.count === 0) return <Failure error={log.error} />
  const picker =
    writers.length > 1 ? (
      <Select
        label={t('log.process')}
        value={chosen}
        onChange={setChosen}
        choices={[
          { value: '', label: t('log.all_processes', { n: writers.length }) },
          ...writers.map((one) => ({ value: one.id, label: nameOf(one) })),
        ]}
      />
    ) : null
  return <LogBody key={chosen} log={log} run={run} picker={picker} />
}

function LogBody(props: {
  log: LoadedLog
  run: string
  picker: ReactElement | null
}): ReactElement {
  const { log, run, picker } = props
  const [search, setSearch] = useState('')
  const [at, setAt] = useState(0)
  const scroll = useScroll(log.lines.count, log.version)
  // biome-ignore lint/correctness/useExhaustiveDependencies: version stands for the lines
  const found = useMemo(() => log.lines.search(search), [log.lines, log.version, search])
  const step = (by: number): void => {
    if (found.length === 0) return
    const next = (at + by + found.length) % found.length
    setAt(next)
    scroll.show(found[next] as number)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new search starts at its first match
  useEffect(() => {
    setAt(0)
    if (search && found[0] !== undefined) scroll.show(found[0])
  }, [search])
  useShortcuts({ End: () => scroll.setFollowing(true) })
  const tools = { log, run, search, setSearch, found, at, step, picker }
  return (
    <div className="log">
      <Toolbar {...tools} following={scroll.following} follow={scroll.setFollowing} />
      {log.start > 0 && (
        <button type="button" className="button button-quiet log-earlier" onClick={log.loadEarlier}>
          {t('log.earlier')}
        </button>
      )}
      {log.lines.count === 0 && (
        <p className="empty-hint log-none">{log.final ? t('log.empty_final') : t('log.empty')}</p>
      )}
      <div
        className="log-box"
        ref={scroll.box}
        onScroll={scroll.onScroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        tabIndex={0}
        role="log"
        aria-label={t('log.region')}
        aria-live="off"
      >
        <div className="log-space" style={{ height: scroll.height }}>
          <Window
            lines={log.lines}
            version={log.version}
            first={scroll.first}
            shown={scroll.shown}
            match={search}
            current={search ? (found[at] ?? -1) : -1}
          />
        </div>
      </div>
    </div>
  )
}
