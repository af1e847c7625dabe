import { BOOKINGS } from './bookings.ts'
import { COMMON } from './common.ts'
import type { ErrorEntry, ErrorSubject } from './entry.ts'
import { FILES } from './files.ts'
import { IDENTITY } from './identity.ts'
import { PDF } from './pdf.ts'
import { POLICE } from './police.ts'
import { SYSTEM } from './system.ts'

/** Errors of particular operations. Each operation declares its own. */
const OF_OPERATIONS = {
  ...BOOKINGS.errors, ...POLICE.errors, ...IDENTITY.errors, ...FILES.errors, ...PDF.errors, ...SYSTEM.errors
}

/** An error code that operations declare. Any operation may return those of `COMMON`. */
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

/** The codes that any operation may return at one of the statuses that pass `isCovered`. */
export function commonCodes (isCovered: (status: number) => boolean): string[] {
  return Object.entries<ErrorEntry>(COMMON.errors)
    .filter(([, { statuses }]) => statuses.some(isCovered)).map(([code]) => code)
}

/** The entry of a code. @throws TypeError for an unknown code */
export function entryOf (codice: string): ErrorEntry {
  const errors = ERROR_SUBJECTS.map(({ errors }) => errors).find((each) => codice in each)
  if (!errors) throw new TypeError(`The code ${codice} is not catalogued`)
  return errors[codice]!
}
