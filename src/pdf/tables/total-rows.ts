import type { Data, Value } from '../data.ts'
import { readWritten } from './amounts.ts'

const BLANK = /^(?:[-–—]|n\/?[ad]\.?|n\.d\.|null)?$/i
const WORD = '(?:sub-?)?(?:totale|totali|total|totaux|summe|gesamt(?:summe|betrag)?|somma|soma)'
/** A label that always marks a total: `Totale`, `Totale generale:`, `Total EUR`. */
const TOTAL = new RegExp(`^(?:grand )?${WORD}(?: (?:generale?|complessivo|geral|global|[a-z]{3}|\\d+))?:?$`, 'i')
/** A label that may mark a total, such as `Totale gennaio`. */
const MAYBE_TOTAL = new RegExp(`^${WORD}(?= )`, 'i')

/** True for an empty cell, and for a dash or `n/a` in its place. */
export function isBlank (value: Value | undefined): boolean {
  return value === null || value === undefined || (typeof value === 'string' && BLANK.test(value.trim()))
}

/**
 * True for a total that the file itself has computed. A longer label marks a total only if the row has empty cells,
 * because a listing may have such a name.
 */
export function isTotalRow (row: Data, columns: number): boolean {
  const [label, ...others] = Object.values(row).filter((value) => !isBlank(value))
  if (typeof label !== 'string' || others.length === 0) return false
  const isLabel = TOTAL.test(label.trim()) || (others.length + 1 < columns && MAYBE_TOTAL.test(label.trim()))
  return isLabel && others.every((value) => typeof value === 'number' ||
    (typeof value === 'string' && readWritten(value) !== undefined))
}
