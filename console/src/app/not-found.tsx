import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { t } from '../base/i18n'
import { Empty } from '../widgets/empty'

export function NotFound(): ReactElement {
  return (
    <div className="page">
      <Empty text={t('page.not_found')} whole>
        <Link href="/" className="button button-plain">
          {t('page.back_home')}
        </Link>
      </Empty>
    </div>
  )
}
