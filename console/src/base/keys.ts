// Keyboard shortcuts: single keys and two-key sequences ("g p"), off in text fields. The latest
// registration wins, so that a page can override the frame while it is shown.

type Action = () => void

const bindings: { keys: string; action: Action }[] = []
let pending = ''
let pendingTimer: ReturnType<typeof setTimeout> | undefined

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable) return true
  if (target instanceof HTMLInputElement)
    return target.type !== 'checkbox' && target.type !== 'radio'
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}

export function keyName(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
): string {
  const main = event.key === ' ' ? 'Space' : event.key
  return `${event.ctrlKey || event.metaKey ? 'Ctrl+' : ''}${event.altKey ? 'Alt+' : ''}${main}`
}

function find(keys: string): Action | undefined {
  for (let i = bindings.length - 1; i >= 0; i--) {
    if (bindings[i]?.keys === keys) return bindings[i]?.action
  }
  return undefined
}

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const name = keyName(event)
  if (isTyping(event.target) && !name.startsWith('Ctrl+')) return
  const inDialog =
    event.target instanceof Element && event.target.closest('[role=dialog], [role=menu]')
  if (inDialog) return
  // Enter and Space belong to the control that has the focus.
  const onControl = event.target instanceof Element && event.target.closest('a, button, summary')
  if (onControl && (name === 'Enter' || name === 'Space')) return
  const whole = pending ? `${pending} ${name}` : name
  clearTimeout(pendingTimer)
  pending = ''
  const action = find(whole) ?? find(name)
  if (action) {
    event.preventDefault()
    action()
  } else if (bindings.some((binding) => binding.keys.startsWith(`${name} `))) {
    pending = name
    pendingTimer = setTimeout(() => {
      pending = ''
    }, 1500)
  }
}

/** Returns what takes them off again. */
export function bindKeys(map: Record<string, Action>): () => void {
  const added = Object.entries(map).map(([keys, action]) => ({ keys, action }))
  bindings.push(...added)
  return () => {
    for (const binding of added) {
      const at = bindings.indexOf(binding)
      if (at >= 0) bindings.splice(at, 1)
    }
  }
}
