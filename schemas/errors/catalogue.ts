import { BOOKINGS } from './bookings.ts'
import { COMMON } from './common.ts'
import type { ErrorSubject } from './entry.ts'
import { FILES } from './files.ts'
import { IDENTITY } from './identity.ts'
import { PDF } from './pdf.ts'
import { POLICE } from './police.ts'
import { SYSTEM } from './system.ts'

/** Errors of particular operations. Each operation declares its own. */
const OF_OPERATIONS = {
  ...BOOKINGS.errors, ...POLICE.errors, ...IDENTITY.errors, ...FILES.errors, ...PDF.errors, ...SYSTEM.errors
}

/** An error code that operations declare. Those of `COMMON` may come from any. */
export type ErrorCode = keyof typeof OF_OPERATIONS

/** Every error of this API, by subject. The identity and storage protocols have their own. */
export const ERROR_SUBJECTS: readonly ErrorSubject[] = [COMMON, BOOKINGS, POLICE, IDENTITY, FILES, PDF, SYSTEM]

/** Whether a code is catalogued with this status. */
export function isCatalogued (codice: string, status: number): boolean {
  return ERROR_SUBJECTS.some(({ errors }) => errors[codice]?.statuses.includes(status))
}

/** Whether any operation may return this code. */
export function isCommon (codice: string): boolean {
  return codice in COMMON.errors
}

/** The statuses of an operation's error. */
export function statusesOf (code: ErrorCode): readonly number[] {
  return OF_OPERATIONS[code].statuses
}
