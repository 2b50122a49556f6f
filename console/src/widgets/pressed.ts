import { type KeyboardEvent, useState } from 'react'

interface Pressed<Kit> {
  kit: Kit | null // once it is there, its own button takes the plain one's place and starts open
  button: {
    type: 'button'
    'aria-expanded': false
    onPointerEnter: () => void
    onFocus: () => void
    onClick: () => void
    onKeyDown: (event: KeyboardEvent) => void
  }
}

/**
 * What menus and popovers need is heavy, and no page opens one by itself: it is fetched when their
 * button is pointed at, and shown when it is pressed.
 */
export function usePressed<Kit>(load: () => Promise<Kit>): Pressed<Kit> {
  const [kit, setKit] = useState<Kit | null>(null)
  const warm = (): void => void load().catch(() => undefined) // pressing tries again
  // A part that is gone was replaced by a newer server's: its page has the new name.
  const open = (): void => void load().then(setKit, () => location.reload())
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    open()
  }
  const events = { onPointerEnter: warm, onFocus: warm, onClick: open, onKeyDown }
  return { kit, button: { type: 'button', 'aria-expanded': false, ...events } }
}
