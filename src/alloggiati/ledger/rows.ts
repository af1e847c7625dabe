import { and, asc, eq } from 'drizzle-orm'
import { invii_schedine as schedine } from '#drizzle/tables/alloggiati.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import type { RowOutcome } from '#schemas/submission.ts'

/** A row of a submission, readable. */
export interface Row {
  indice: number
  capo: number
  permanenza: number
  line: string
}

/** A record as it is kept: encrypted, and bound to its place, so that no row can be moved to another submission. */
export function sealRow (keys: Keys, id: number, indice: number, line: string): Buffer {
  return keys.seal(line, context(id, indice))
}

export function openRow (keys: Keys, id: number, indice: number, sealed: Buffer): string {
  return keys.unseal(sealed, context(id, indice)).toString()
}

/** The rows of a submission with one outcome, in order. */
export async function rowsOf (db: Executor, keys: Keys, id: number, esito: RowOutcome): Promise<Row[]> {
  const found = await db
    .select({ indice: schedine.indice, capo: schedine.capo, permanenza: schedine.permanenza, riga: schedine.riga })
    .from(schedine)
    .where(and(eq(schedine.invio_id, id), eq(schedine.esito, esito)))
    .orderBy(asc(schedine.indice))
  return found.map(({ riga, ...row }) => ({ ...row, line: openRow(keys, id, row.indice, riga) }))
}

function context (id: number, indice: number): string {
  return `invii_schedine.riga/${id}/${indice}`
}
