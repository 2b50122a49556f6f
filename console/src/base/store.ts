// What the browser remembers for one person. A browser that refuses storage just forgets.

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(`euvyra.${key}`)
  } catch {
    return null
  }
}

export function remember(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`euvyra.${key}`)
    else localStorage.setItem(`euvyra.${key}`, value)
  } catch {
    // A private window without storage: the choice lasts until the page is left.
  }
}

/** Reads JSON that an older version may have written: anything unexpected is forgotten. */
export function rememberedJson<T>(key: string, accept: (value: unknown) => value is T): T | null {
  const text = remembered(key)
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text)
    return accept(value) ? value : null
  } catch {
    return null
  }
}

export const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
