import { and, eq, type SQL } from 'drizzle-orm'
import { invii_correzioni as corrections } from '#drizzle/tables/decisions.ts'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { CorrectionBody } from '#schemas/decisions.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Audit, Author } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { InvioNonTrovato } from '../errors.ts'

/**
 * Writes down that the questura was asked to correct what it has of a submission: only the questura can.
 * @throws InvioNonTrovato; CampiNonValidi for a row that the submission does not have
 */
export async function recordCorrection (
  tx: Transaction,
  audit: Audit,
  scope: SQL,
  id: number,
  { motivo, protocollo, riga }: CorrectionBody,
  author: Author
): Promise<void> {
  const [found] = await tx.select({ ricevuta: invii.ricevuta }).from(invii).where(and(scope, eq(invii.id, id)))
  if (!found) throw new InvioNonTrovato()
  if (riga !== undefined) {
    const rows = await tx.$count(schedine, and(eq(schedine.invio_id, id), eq(schedine.indice, riga)))
    if (rows === 0) throw new CampiNonValidi({ campo: 'riga', messaggio: "non è una schedina dell'invio" })
  }
  await tx.insert(corrections).values({ invio_id: id, indice: riga, chi: author.actor, motivo, protocollo })
  await audit.append(tx, { ...author, action: 'correzione', object: `invio:${found.ricevuta}`, details: { id } })
}
