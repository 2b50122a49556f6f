import { CSPProvider } from '@base-ui/react/csp-provider'
import type { ReactElement, ReactNode } from 'react'

/** The component kit writes no style elements: the policy allows none. */
export function WidgetProvider({ children }: { children: ReactNode }): ReactElement {
  return <CSPProvider disableStyleElements>{children}</CSPProvider>
}
