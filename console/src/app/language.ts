import { Watched } from '../base/emitter'
import { currentLanguage, type Language, languageLoad } from '../base/i18n'
import { remember } from '../base/store'

export const language = new Watched<Language>(currentLanguage())

export async function languageUse(next: Language): Promise<void> {
  await languageLoad(next)
  remember('language', next)
  document.documentElement.lang = next
  language.set(next)
}
