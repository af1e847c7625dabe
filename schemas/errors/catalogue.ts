import { BOOKINGS } from './bookings.ts'
import { COMMON } from './common.ts'
import type { ErrorSubject } from './entry.ts'
import { FILES } from './files.ts'
import { IDENTITY } from './identity.ts'
import { PDF } from './pdf.ts'
import { POLICE } from './police.ts'
import { SYSTEM } from './system.ts'

/** Every error that the API answers in its own form, by subject. The identity and storage protocols have their own. */
export const ERROR_SUBJECTS: readonly ErrorSubject[] = [COMMON, BOOKINGS, POLICE, IDENTITY, FILES, PDF, SYSTEM]

/** True for a machine code that comes with this status. */
export function isCatalogued (codice: string, status: number): boolean {
  return ERROR_SUBJECTS.some(({ errors }) => errors[codice]?.statuses.includes(status))
}
