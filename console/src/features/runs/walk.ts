// Walking the cells of a table with the keys of a grid. Pure.

export interface Place {
  row: number // -1: the heads
  column: number
}

export interface Extent {
  rows: number
  columns: number
  page: number // rows in sight
}

const clamp = (value: number, low: number, high: number): number =>
  Math.max(low, Math.min(high, value))

function wanted({ row, column }: Place, key: string, ctrl: boolean, extent: Extent): Place | null {
  switch (ctrl ? `Ctrl+${key}` : key) {
    case 'ArrowDown':
      return { row: row + 1, column }
    case 'ArrowUp':
      return { row: row - 1, column }
    case 'ArrowLeft':
      return { row, column: column - 1 }
    case 'ArrowRight':
      return { row, column: column + 1 }
    case 'Home':
      return { row, column: 0 }
    case 'End':
      return { row, column: extent.columns - 1 }
    case 'PageDown':
      return { row: row + extent.page, column }
    case 'PageUp':
      return { row: Math.max(0, row - extent.page), column }
    case 'Ctrl+Home':
      return { row: 0, column: 0 }
    case 'Ctrl+End':
      return { row: extent.rows - 1, column: extent.columns - 1 }
    default:
      return null
  }
}

/** Where a key leads to; null: it is not one for walking. */
export function walk(place: Place, key: string, ctrl: boolean, extent: Extent): Place | null {
  const next = wanted(place, key, ctrl, extent)
  if (!next) return null
  return {
    row: clamp(next.row, -1, extent.rows - 1),
    column: clamp(next.column, 0, extent.columns - 1),
  }
}
