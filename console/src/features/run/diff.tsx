import { type ReactElement, useState } from 'react'
import { ApiError } from '../../api/client'
import { useDiff } from '../../api/queries'
import { formatBytes } from '../../base/format'
import { t } from '../../base/i18n'
import { Button } from '../../widgets/button'

function kindOf(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('diff '))
    return 'diff-file'
  if (line.startsWith('@@')) return 'diff-place'
  if (line.startsWith('+')) return 'diff-added'
  return line.startsWith('-') ? 'diff-removed' : ''
}

/** What the code had changed since its commit; asked for when somebody wants to see it. */
export function Diff({ run }: { run: string }): ReactElement {
  const [open, setOpen] = useState(false)
  const diff = useDiff(run, open)
  const missing = diff.error instanceof ApiError && diff.error.status === 404
  return (
    <>
      <Button kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? t('run.diff_hide') : t('run.diff_show')}
      </Button>
      {open && missing && <p className="empty-hint">{t('run.diff_none')}</p>}
      {open && diff.data && (
        <>
          <pre className="diff">
            {diff.data.diff.split('\n').map((line, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines of a diff never move
              <span key={i} className={kindOf(line)}>
                {line}
                {'\n'}
              </span>
            ))}
          </pre>
          {diff.data.cut && (
            <p className="muted">{t('run.diff_cut', { size: formatBytes(diff.data.bytes) })}</p>
          )}
        </>
      )}
    </>
  )
}
