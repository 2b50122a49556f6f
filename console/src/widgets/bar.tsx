import type { ReactElement } from 'react'

export interface BarPart {
  size: number
  tone: 'used' | 'borrowed' | 'committed' | 'forecast'
}

interface BarProps {
  label: string // all that the bar shows, in words
  parts: BarPart[] // side by side, from the left
  mark?: number | null // a line at this size: a quota, a limit
  scale: number // the size of the whole bar
}

const WIDTH = 200
const HEIGHT = 8

/** A bar of parts with a mark. Its words stand beside it; what is heard is its label. */
export function Bar({ label, parts, mark, scale }: BarProps): ReactElement {
  const wide = (size: number): number =>
    scale > 0 ? Math.min(WIDTH, Math.max(0, (size / scale) * WIDTH)) : 0
  let at = 0
  return (
    <svg
      className="bar"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <rect className="bar-back" width={WIDTH} height={HEIGHT} rx="2" />
      {parts.map((part) => {
        const from = wide(at)
        at += Math.max(0, part.size)
        const width = wide(at) - from
        return (
          <rect
            key={part.tone}
            className={`bar-${part.tone}`}
            x={from}
            width={width}
            height={HEIGHT}
          />
        )
      })}
      {mark !== null && mark !== undefined && mark > 0 && (
        <rect
          className="bar-mark"
          x={Math.min(WIDTH - 2, Math.max(0, wide(mark) - 1))}
          width="2"
          height={HEIGHT}
        />
      )}
    </svg>
  )
}
