import { createHmac } from 'node:crypto'

/** A row of the log as it is stored, without its hash. */
export interface AuditRow {
  id: number
  at: Date
  actor: string
  action: string
  object: string | null
  ip: string | null
  details: unknown
}

/**
 * The one spelling of a row: JSON keeps the parts apart, and the keys of an object stand in order, which the database
 * does not keep.
 */
export function canonical ({ id, at, actor, action, object, ip, details }: AuditRow): string {
  return JSON.stringify([id, at, actor, action, object, ip, details], inKeyOrder)
}

/** What chains a row to the one before. Without the key it can neither be written nor put right. */
export function linkHash (key: Buffer, row: AuditRow, previous: Buffer | undefined): Buffer {
  return createHmac('sha256', key).update(canonical(row)).update(previous ?? '').digest()
}

function inKeyOrder (_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1))
}
