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
 * A statement that PostgreSQL refused. Its message goes to the caller, who needs it to mend the statement: it holds
 * names, and values that the statement itself had in hand, so none that the role may not read.
 */
export class SqlNonValido extends ShapedError {
  constructor (text: string, sqlstate: string, posizione: number | null, messaggio: string) {
    const dettagli = [{ campo: 'sql', messaggio: text }]
    super('SQL_NON_VALIDO', 400, text, { sqlstate, posizione, messaggio, dettagli })
  }
}
