import type { ReactElement } from 'react'
import { Link } from 'wouter'

export interface Tab {
  id: string
  label: string
  href: string
}

/** Tabs that are addresses: each is a link, the one shown is marked. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string
  tabs: Tab[]
  current: string
}): ReactElement {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link
          key={tab.id}
          href={tab.href}
          className="tab"
          aria-current={tab.id === current ? 'page' : undefined}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  )
}
