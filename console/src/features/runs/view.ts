// What the address says of the runs page, all of it: filter, state, order, groups, columns, selection.
import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { type RunsFind, useRunColumns } from '../../api/queries'
import { isTextList, remember, rememberedJson } from '../../base/store'
import { useRested, useViewParam } from '../../widgets/hooks'
import { type ColumnId, defaultColumns, isColumn, keysSplit, type Sort, sortParse } from './columns'
import { findOf } from './query'

export const STATES = ['running', 'finished', 'failed', 'crashed', 'killed', 'preempted', 'pending']
export const VIEWS = ['table', 'split', 'charts'] as const
export type View = (typeof VIEWS)[number]

export interface RunsView {
  text: string // of the filter box
  setText: (text: string) => void
  state: string
  setState: (state: string) => void
  find: RunsFind // what they ask for
  sort: Sort | null
  sortText: string // as the server takes it
  onSort: (column: ColumnId | 'name') => void
  by: string[] // keys of grouping
  setBy: (by: string[]) => void
  open: string // the filter of the open group
  setOpen: (filter: string) => void
  view: View
  setView: (view: string) => void
  clear: () => void // everything that narrows
}

export function useRunsView(): RunsView {
  const [text, setText] = useViewParam('q', '')
  const [stateText, setState] = useViewParam('state', '')
  const [sortText, setSortText] = useViewParam('sort', '')
  const [groupText, setGroupText] = useViewParam('group', '')
  const [open, setOpen] = useViewParam('open', '')
  const [viewText, setView] = useViewParam('view', 'table', 'push')
  const [, setParams] = useSearchParams()
  const rested = useRested(text)
  const state = STATES.includes(stateText) ? stateText : ''
  const find = useMemo(() => findOf(rested, state), [rested, state])
  const sort = useMemo(() => sortParse(sortText), [sortText])
  const by = useMemo(() => keysSplit(groupText).slice(0, 3), [groupText])
  return {
    text,
    setText,
    state,
    setState,
    find,
    sort,
    sortText: sort ? sortText : '',
    onSort: (column) => {
      // Numbers are most often wanted from the top: first click down, second up, third off.
      if (sort?.column !== column) setSortText(`-${column}`)
      else setSortText(sort.down ? column : '')
    },
    by,
    setBy: (keys) => setGroupText(keys.join(',')),
    open,
    setOpen,
    view: VIEWS.find((known) => known === viewText) ?? 'table',
    setView,
    clear: () =>
      setParams((before) => {
        const next = new URLSearchParams(before)
        for (const name of ['q', 'state', 'open']) next.delete(name)
        return next
      }),
  }
}

export function useColumns(project: string) {
  const [inUrl, setInUrl] = useViewParam('cols', '')
  const offered = useRunColumns(project, '')
  const kept = useMemo(() => rememberedJson(`cols.${project}`, isTextList), [project])
  const fallback = useMemo(() => defaultColumns(offered.data ?? []), [offered.data])
  const wanted = useMemo(() => (inUrl ? keysSplit(inUrl) : kept), [inUrl, kept])
  const chosen = useMemo(() => wanted?.filter(isColumn), [wanted])
  const set = (columns: ColumnId[] | null): void => {
    remember(`cols.${project}`, columns && JSON.stringify(columns))
    setInUrl(columns ? columns.join(',') : '')
  }
  const isDefault = !chosen || chosen.length === 0
  return { columns: isDefault ? fallback : chosen, isDefault, set }
}

export function useSelection() {
  const [text, setText] = useViewParam('sel', '')
  const selected = useMemo(() => new Set(text ? text.split(',') : []), [text])
  const set = useCallback((ids: Iterable<string>) => setText([...ids].join(',')), [setText])
  const toggle = useCallback(
    (id: string, on: boolean) => {
      const next = new Set(selected)
      if (on) next.add(id)
      else next.delete(id)
      set(next)
    },
    [selected, set],
  )
  return { selected, set, toggle }
}
