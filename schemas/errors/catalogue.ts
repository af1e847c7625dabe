import { BOOKINGS } from './bookings.ts'
import { COMMON } from './common.ts'
import type { ErrorSubject } from './entry.ts'
import { FILES } from './files.ts'
import { IDENTITY } from './identity.ts'
import { PDF } from './pdf.ts'
import { POLICE } from './police.ts'
import { SYSTEM } from './system.ts'

/** Errors that only some operations answer: each operation names its own. */
const OF_OPERATIONS = {
  ...BOOKINGS.errors, ...POLICE.errors, ...IDENTITY.errors, ...FILES.errors, ...PDF.errors, ...SYSTEM.errors
}

/** The machine code of an error that an operation names as its own; those of `COMMON` may come from any. */
export type ErrorCode = keyof typeof OF_OPERATIONS

/** Every error that the API answers in its own form, by subject. The identity and storage protocols have their own. */
export const ERROR_SUBJECTS: readonly ErrorSubject[] = [COMMON, BOOKINGS, POLICE, IDENTITY, FILES, PDF, SYSTEM]

/** True for a machine code that comes with this status. */
export function isCatalogued (codice: string, status: number): boolean {
  return ERROR_SUBJECTS.some(({ errors }) => errors[codice]?.statuses.includes(status))
}

/** True for a machine code that any operation may answer. */
export function isCommon (codice: string): boolean {
  return codice in COMMON.errors
}

/** With which statuses an error of an operation comes. */
export function statusesOf (code: ErrorCode): readonly number[] {
  return OF_OPERATIONS[code].statuses
}
