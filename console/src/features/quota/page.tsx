import type { ReactElement } from 'react'
import { useBudget, useMe, useServer, useShares } from '../../api/queries'
import { t } from '../../base/i18n'
import { Shown } from '../../widgets/empty'
import { useTitle } from '../../widgets/hooks'
import { sharesAbove } from '../../widgets/shares'
import { BudgetCard, History } from './budget'
import { Quotas } from './share'

/** What a project may use: quotas at every level, and the budget of its months. */
export function QuotaPage({ project }: { project: string }): ReactElement {
  const shares = useShares()
  const budget = useBudget(project)
  const admin = useMe().data?.admin === true
  const currency = useServer().data?.currency ?? 'EUR'
  useTitle(`${t('quota.title')} · ${project}`)
  return (
    <div className="page">
      <header className="page-head">
        <h1>{t('quota.title')}</h1>
      </header>
      <Shown asked={budget}>
        {(found) => (
          <div className="quota-page">
            <div className="overview">
              <BudgetCard project={project} budget={found} currency={currency} admin={admin} />
              <History project={project} currency={currency} />
            </div>
            <Quotas
              project={project}
              own={sharesAbove(shares.data ?? [], project)}
              shares={shares.data ?? []}
              admin={admin}
            />
          </div>
        )}
      </Shown>
    </div>
  )
}
