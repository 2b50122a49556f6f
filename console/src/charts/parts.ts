// What a board needs of the widgets above it, handed in: charts and widgets do not import each other.
import type { ReactElement, RefObject } from 'react'

interface IconButtonLike {
  icon: 'reset' | 'chart' | 'table' | 'close' | 'full' | 'axis'
  label: string
  onClick: () => void
}

export interface ChartParts {
  Cut: (props: { text: string }) => ReactElement
  IconButton: (props: IconButtonLike) => ReactElement
  useSeen: (ref: RefObject<HTMLElement | null>) => boolean
  useSize: (ref: RefObject<HTMLElement | null>) => { width: number; height: number }
  useDark: () => boolean
}
