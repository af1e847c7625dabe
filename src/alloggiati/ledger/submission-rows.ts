import { and, asc, eq } from 'drizzle-orm'
import { invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import type { RowOutcome } from '#schemas/submission.ts'

/** A decrypted row. `capo` is the index of the leader of its family or group. */
export interface Row { indice: number, capo: number, permanenza: number, line: string }

/** Encrypts a line and binds it to its submission and index, so that it cannot be moved to another row. */
export function sealLine (keys: Keys, id: number, indice: number, line: string): Buffer {
  return keys.seal(line, sealContext(id, indice))
}

export function unsealLine (keys: Keys, id: number, indice: number, sealed: Buffer): string {
  return keys.unseal(sealed, sealContext(id, indice)).toString()
}

export async function readRows (db: Executor, keys: Keys, id: number, esito: RowOutcome): Promise<Row[]> {
  const found = await db
    .select({ indice: schedine.indice, capo: schedine.capo, permanenza: schedine.permanenza, riga: schedine.riga })
    .from(schedine)
    .where(and(eq(schedine.invio_id, id), eq(schedine.esito, esito)))
    .orderBy(asc(schedine.indice))
  // Records are erased only after their submission has ended.
  return found.map(({ riga, ...row }) => ({ ...row, line: unsealLine(keys, id, row.indice, riga!) }))
}

export function sumNights (rows: readonly { permanenza: number }[]): number {
  return rows.reduce((sum, { permanenza }) => sum + permanenza, 0)
}

function sealContext (id: number, indice: number): string {
  return `invii_schedine.riga/${id}/${indice}`
}
