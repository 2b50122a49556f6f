import type { ReactElement } from 'react'

// Our own icons: 16 x 16, one stroke. Decoration only: the control beside it has the words.
const PATHS = {
  projects: 'M2 4.5h4l1.5 2H14v7H2z',
  runs: 'M2 13V3M2 13h12M4.5 10l3-4 2.5 2.5L14 4',
  queue: 'M2 4h12M2 8h9M2 12h6',
  agents: 'M3 3h10v4H3zM3 9h10v4H3zM5.5 5h.01M5.5 11h.01',
  clusters:
    'M2.5 2.500h4.500v4.500H2.500zM9 2.500h4.500v4.500H9zM2.500 9h4.500v4.500H2.500zM9 9h4.500v4.500H9z',
  key: 'M9.5 6.5a3 3 0 1 0-1.2 2.4L9 9.6h1.5V11H12v1.5h2V11L9.3 7.9',
  user: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 13.5c.6-2.3 2.5-3.5 5-3.5s4.4 1.2 5 3.5',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14',
  plus: 'M8 3v10M3 8h10',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3 8.5 3.5 3.5L13 5',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  down: 'm4 6 4 4 4-4',
  right: 'm6 4 4 4-4 4',
  up: 'm4 10 4-4 4 4',
  table: 'M2 3h12v10H2zM2 6.5h12M6.5 3v10',
  axis: 'M2 3v10h12M11.5 10.5 14 13l-2.5 2.500M5 8h6M9 6l2 2-2 2',
  best: 'M8 2.500 9.700 6l3.800.5-2.800 2.700.7 3.800L8 11.200 4.600 13l.7-3.800L2.500 6.500 6.300 6z',
  split: 'M2 3h12v10H2zM8 3v10',
  chart: 'M2 2.5v11h12M4.5 10.5 7 7l2.5 2L14 4',
  columns: 'M2 3h3v10H2zM6.5 3h3v10h-3zM11 3h3v10h-3z',
  help: 'M6 6.2a2 2 0 1 1 2.700 1.900c-.5.2-.7.6-.7 1.100v.3M8 12h.01',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  full: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  reset: 'M3 8a5 5 0 1 0 1.6-3.7M3 2.5V5h2.5',
  stop: 'M4 4h8v8H4z',
  log: 'M3 3.5h10M3 6.5h7M3 9.5h10M3 12.5h5',
  download: 'M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10',
  tag: 'M2.5 8.5v-6h6l5 5-6 6zM5.5 5.5h.01',
  pen: 'm3 13 .6-2.6L11 3l2 2-7.4 7.4zM10 4l2 2',
  trash: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 9h6l.5-9',
  link: 'M6.5 9.5l3-3M5 8 3.5 9.5a2.1 2.1 0 0 0 3 3L8 11M8 5l1.5-1.5a2.1 2.1 0 0 1 3 3L11 8',
  warning: 'M8 2.5 14 13H2zM8 6.5v3M8 11.3h.01',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1.500H3zM6.500 14h3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): ReactElement {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
