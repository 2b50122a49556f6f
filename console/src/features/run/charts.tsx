import { type ReactElement, useMemo } from 'react'
import type { RunDetail } from '../../api/client'
import { useWriters } from '../../api/queries'
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
  const writers = useWriters(run.id).data ?? []
  const distinct = (values: unknown[]): boolean => new Set(values).size > 1
  const view = useChartView(kind === 'metric' ? 'step' : 'relative', {
    ranks: distinct(writers.map((one) => one.rank).filter((rank) => rank !== null)),
    hosts: distinct(writers.map((one) => one.host).filter((host) => host !== '')),
    hidden: kind === 'metric' && run.has_hidden === true,
  })
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
