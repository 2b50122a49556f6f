// Light, dark, or as the system says: CSS `light-dark()` follows `color-scheme`, charts ask here.
import { Watched } from './emitter'
import { remember, remembered } from './store'

export type Theme = 'system' | 'light' | 'dark'

const isTheme = (value: string | null): value is Theme =>
  value === 'system' || value === 'light' || value === 'dark'

export const theme = new Watched<Theme>('system')

function apply(next: Theme): void {
  document.documentElement.style.colorScheme = next === 'system' ? 'light dark' : next
}

export function themeStart(): void {
  const kept = remembered('theme')
  theme.set(isTheme(kept) ? kept : 'system')
  apply(theme.get())
}

export function themeUse(next: Theme): void {
  remember('theme', next === 'system' ? null : next)
  apply(next)
  theme.set(next)
}

export function isDark(): boolean {
  const chosen = theme.get()
  if (chosen !== 'system') return chosen === 'dark'
  return matchMedia('(prefers-color-scheme: dark)').matches
}
