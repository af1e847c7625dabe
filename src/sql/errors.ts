import createError from '@fastify/error'
import { ShapedError } from '#src/lib/errors.ts'

export const SqlSpento = createError('SQL_SPENTO', 'La console SQL è spenta: %s', 403)
export const SqlPasswordErrata = createError('PASSWORD_ERRATA', 'La password della console SQL non è giusta', 403)
export const SqlRispostaTroppoGrande = createError(
  'SQL_RISPOSTA_TROPPO_GRANDE',
  'La risposta supera 10.000 righe o 10 MB: non è stato fatto nulla',
  400
)

/**
 * A statement that PostgreSQL rejected. The response contains PostgreSQL's message, so that the caller can correct the
 * statement. The message contains only names and values that the role may read.
 */
export class SqlNonValido extends ShapedError {
  constructor (text: string, sqlstate: string, posizione: number | null, messaggio: string) {
    const dettagli = [{ campo: 'sql', messaggio: text }]
    super('SQL_NON_VALIDO', 400, text, { sqlstate, posizione, messaggio, dettagli })
  }
}

/** The meaning of a SQLSTATE for the author of the statement (PostgreSQL manual, appendix A). */
const BY_CODE: Readonly<Record<string, string>> = {
  42501: 'La console SQL non ha il permesso di farlo',
  57014: 'L’istruzione è stata interrotta, di solito perché supera i 10 secondi: non è stato fatto nulla',
  '40P01': 'L’istruzione si è scontrata con un’altra: riprovare'
}

/** SQLSTATEs of errors that the statement did not cause. A statement with parameters does cause 08P01. */
const NOT_THE_STATEMENT = /^(08(?!P01)|53300|57P|58|F0|XX)/

/** The Italian text for a SQLSTATE. Undefined when the statement did not cause the error. */
export function explain (sqlstate: string): string | undefined {
  if (NOT_THE_STATEMENT.test(sqlstate)) return undefined
  return BY_CODE[sqlstate] ?? 'Il database ha rifiutato l’istruzione: il suo messaggio dice perché'
}
