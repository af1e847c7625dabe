import type { FieldError } from '#schemas/common.ts'
import { TEMPLATE_ID } from '#schemas/template.ts'
import type { RequestFields } from '#src/http/faults.ts'

/** What is wrong with a template that is to be saved, beyond what its schema says. */
export function savingFaults ({ params: { id }, body: { esempio } }: RequestFields): FieldError[] {
  return [
    ...(typeof id !== 'string' || TEMPLATE_ID.test(id)
      ? []
      : [{ campo: 'id', messaggio: 'deve avere 16 cifre esadecimali minuscole' }]),
    ...(isStorable(esempio) ? [] : [{ campo: 'esempio', messaggio: 'contiene caratteri non ammessi' }])
  ]
}

/** PostgreSQL holds no NUL and no half of a pair of surrogates, neither in values nor in names. */
function isStorable (value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, inner]) => isStorable(name) && isStorable(inner))
}
