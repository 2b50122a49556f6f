import type { ReactElement } from 'react'
import type { RunFigure } from '../api/client'
import { formatValue } from '../base/format'
import { t, tName } from '../base/i18n'
import { Icon } from './icon'

/** "least value, at step 120; less is better": what a value is; empty when there is nothing to say. */
export function figureText({ figure, step, goal }: RunFigure): string {
  const what = figure ? tName('figure', figure) : ''
  const where = what && step !== null ? t('figure.at_step', { figure: what, n: step }) : what
  const better = goal ? tName('goal', goal) : ''
  return [where, better].filter(Boolean).join('; ')
}

/** All that there is to say of a value, its standing among the runs too. */
export function figureTitle(figure: RunFigure, best: boolean): string {
  return [best && t('runs.best'), figureText(figure)].filter(Boolean).join('; ')
}

/** A value with what it is: the figure in a word where it is not the last, the rest where one points. */
export function FigureValue(props: {
  value: unknown
  figure: RunFigure
  best: boolean
}): ReactElement {
  const { value, figure, best } = props
  const text = figureText(figure)
  const chosen = figure.figure !== null && figure.figure !== 'last'
  return (
    <span className="figure" title={figureTitle(figure, best)}>
      {best && (
        <span className="figure-best">
          <Icon name="best" size={12} />
          <span className="visually-hidden">{t('runs.best')}: </span>
        </span>
      )}
      {chosen && (
        <span className="figure-kind" aria-hidden="true">
          {tName('figure_short', figure.figure ?? '')}
        </span>
      )}
      {formatValue(value)}
      {text && <span className="visually-hidden">, {text}</span>}
    </span>
  )
}
