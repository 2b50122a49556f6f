import type { ReactElement } from 'react'
import type { Run } from '../../api/client'
import { t } from '../../base/i18n'
import { Board } from '../../charts/board'
import { chartParts, useChartView } from '../../widgets/chart-tools'
import { Command, Empty } from '../../widgets/empty'

export function Charts(props: { project: string; runs: Run[]; selected: boolean }): ReactElement {
  const view = useChartView('step')
  const { runs } = props
  const n = runs.length
  const empty = (
    <Empty text={t('run.charts_empty')}>
      <Command text={'run.log({"loss": loss})'} />
    </Empty>
  )
  return (
    <div className="runs-charts">
      {view.tools}
      <p className="muted runs-charts-note">
        {props.selected ? t('runs.charts_of_selected', { n }) : t('runs.charts_of_first', { n })}
      </p>
      <Board
        project={props.project}
        runs={runs}
        kind="metric"
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
