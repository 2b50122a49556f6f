import type { ReactElement } from 'react'
import { type Key, t } from '../base/i18n'
import { Dialog } from '../widgets/dialog'

const GROUPS: { title: Key; keys: [string, Key][] }[] = [
  {
    title: 'shortcuts.everywhere',
    keys: [
      ['Ctrl K', 'shortcuts.palette'],
      ['/', 'shortcuts.filter'],
      ['g p', 'shortcuts.go_projects'],
      ['g r', 'shortcuts.go_runs'],
      ['g b', 'shortcuts.go_quota'],
      ['g q', 'shortcuts.go_queue'],
      ['g l', 'shortcuts.go_launch'],
      ['g c', 'shortcuts.go_clusters'],
      ['g a', 'shortcuts.go_agents'],
      ['c', 'shortcuts.copy_link'],
      ['Esc', 'shortcuts.escape'],
      ['?', 'shortcuts.help'],
    ],
  },
  {
    title: 'shortcuts.lists',
    keys: [
      ['j k', 'shortcuts.move'],
      ['Enter', 'shortcuts.open'],
      ['x', 'shortcuts.select'],
      ['n', 'shortcuts.new'],
      ['t', 'shortcuts.view'],
    ],
  },
  {
    title: 'shortcuts.charts',
    keys: [
      ['z', 'shortcuts.reset'],
      ['l', 'shortcuts.log_axis'],
      [', .', 'shortcuts.smoothing'],
      ['← → ↑ ↓', 'shortcuts.walk'],
      ['Enter Esc', 'shortcuts.pin'],
    ],
  },
]

export function ShortcutList({
  open,
  onClose,
}: {
  open: boolean
  onClose: () => void
}): ReactElement {
  return (
    <Dialog title={t('shortcuts.title')} open={open} onClose={onClose} wide>
      <div className="shortcuts">
        {GROUPS.map((group) => (
          <section key={group.title}>
            <h3>{t(group.title)}</h3>
            <dl>
              {group.keys.map(([keys, what]) => (
                <div key={keys}>
                  <dt>
                    {keys.split(' ').map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{t(what)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
