import { type ReactElement, useMemo } from 'react'
import type { RunDetail } from '../../api/client'
import { t } from '../../base/i18n'
import { Board } from '../../charts/board'
import { chartParts, useChartView } from '../../widgets/chart-tools'
import { Command, Empty } from '../../widgets/empty'

export function RunCharts({
  run,
  kind,
}: {
  run: RunDetail
  kind: 'metric' | 'system'
}): ReactElement {
  const view = useChartView(kind === 'metric' ? 'step' : 'relative')
  const runs = useMemo(() => [{ id: run.id, name: run.name }], [run.id, run.name])
  const empty =
    kind === 'metric' ? (
      <Empty text={t('run.charts_empty')}>
        <Command text={'run.log({"loss": loss})'} />
      </Empty>
    ) : (
      <Empty text={t('run.system_empty')} />
    )
  return (
    <div className="run-charts">
      {view.tools}
      <Board
        project={run.project}
        runs={runs}
        kind={kind}
        settings={view.settings}
        filter={view.filter}
        zoom={view.zoom}
        onZoom={view.setZoom}
        parts={chartParts}
        empty={empty}
      />
    </div>
  )
}
