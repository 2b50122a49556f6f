import { createRoot } from 'react-dom/client'
import { App } from './app/app'
import { languageLoad, languageOf } from './base/i18n'
import { remembered } from './base/store'
import { themeStart } from './base/theme'
import './base/base.css'
import './widgets/widgets.css'
import './widgets/bar.css'
import './charts/charts.css'
import './features/features.css'
import './app/app.css'

async function start(): Promise<void> {
  themeStart()
  const kept = remembered('language')
  const language = languageOf(kept ? [kept] : navigator.languages)
  await languageLoad(language)
  document.documentElement.lang = language
  const root = document.getElementById('root')
  if (root) createRoot(root).render(<App />)
}

void start()
