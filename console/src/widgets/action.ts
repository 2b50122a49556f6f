import { useState } from 'react'
import { t } from '../base/i18n'

export interface Action {
  busy: boolean
  failure: string // why the last one did not work
  run: (what: () => Promise<unknown>) => Promise<boolean>
}

export const failureOf = (error: unknown): string =>
  error instanceof Error && error.message ? error.message : t('error.unexpected')

/** Something a button does: one at a time, with what went wrong in words. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const run = async (what: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setFailure('')
    try {
      await what()
      return true
    } catch (error) {
      setFailure(failureOf(error))
      return false
    } finally {
      setBusy(false)
    }
  }
  return { busy, failure, run }
}
