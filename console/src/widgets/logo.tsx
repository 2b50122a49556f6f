import type { ReactElement } from 'react'

/** Three runs that rise: the mark of the product. */
export function Logo({ size = 20 }: { size?: number }): ReactElement {
  return (
    <svg
      className="logo"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
    >
      <rect width="24" height="24" rx="6" className="logo-tile" />
      <path d="M5 16.5c3.5 0 4-3 7-3s3.5 1.5 7 1.5" className="logo-line logo-line-3" />
      <path d="M5 14c3.5 0 4-4.5 7-4.5s3.500 1 7 1" className="logo-line logo-line-2" />
      <path d="M5 11.500c3.500 0 4-5.500 7-5.500s3.500.5 7 .5" className="logo-line" />
    </svg>
  )
}
