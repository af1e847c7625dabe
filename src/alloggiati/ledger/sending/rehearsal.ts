import { and, eq } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { renewLease, type Claim, type NotSent } from './claim.ts'
import type { RowVerdict, Verdict } from './classify.ts'
import { announce, type LedgerContext } from '../context.ts'
import { rehearse, type Handover } from './handover.ts'
import { lockChain, move } from '../moves.ts'
import { mayBeAcquired } from './record-verdict.ts'
import { readRows, type Row } from '../rows.ts'

/** What a rehearsal says can be sent, with the token of its call. */
export interface Rehearsed {
  token: string
  rows: readonly Row[]
  /** When, by the clock that only goes forward. */
  at: number
}

/** Rows as a call takes them. */
export function handoverOf (rows: readonly Row[], id_appartamento: number | null): Handover {
  return { lines: rows.map(({ line }) => line), id_appartamento: id_appartamento ?? undefined }
}

/**
 * Logs in and rehearses a claimed submission, and takes out what the service refuses.
 * @returns what can be sent; or why nothing can; or undefined when the submission has ended, or is another worker's by
 * now
 */
export async function rehearseClaimed (
  context: LedgerContext,
  claim: Claim,
  id_appartamento: number | null
): Promise<Rehearsed | NotSent | undefined> {
  const { db, keys, service, lane } = context
  const { id } = claim
  const rows = await readRows(db, keys, id, 'in_corso')
  const rehearsal = await rehearse(service, handoverOf(rows, id_appartamento), {
    signal: lane.closing,
    async loggedIn () {
      const isMine = await renewLease(db, claim)
      if (isMine) announce('logged-in', id)
      return isMine
    }
  })
  if (rehearsal === undefined) return undefined
  const { token, verdict } = rehearsal
  if (token === null || verdict.stato === 'non_inviato') return { causa: verdict.causa, errore: verdict.errore }
  const accepted = await excludeRefused(context, claim, rows, verdict)
  if (accepted.length === 0 || !await renewLease(db, claim)) return undefined
  announce('rehearsed', id)
  return { token, rows: accepted, at: performance.now() }
}

/**
 * Takes out what the rehearsal refused, and with it the rest of the same family or group: a member cannot be filed
 * without its leader, nor later alone. A submission that was sent before and may have been acquired is not split: a
 * person decides.
 * @returns the rows to send; none when all rows are refused, which ends the submission, or when it is another worker's
 * by now
 */
async function excludeRefused (
  { db, name, alarm }: LedgerContext,
  claim: Claim,
  rows: readonly Row[],
  rehearsal: Verdict
): Promise<Row[]> {
  const { id } = claim
  const isRefused = (at: number) => rehearsal.schedine[at]?.esito === 'rifiutata'
  const refused = new Set(rows.filter((_, at) => isRefused(at)).map(({ capo }) => capo))
  if (refused.size === 0) return [...rows]
  const accepted = rows.filter(({ capo }) => !refused.has(capo))
  const changed = await db.transaction(async (tx) => {
    await lockChain(tx)
    // First of all: a row that is freed while another worker has it in flight could be sent twice.
    const inDoubt = await mayBeAcquired(tx, id)
    const a = inDoubt ? 'da_verificare' : 'rifiutato'
    const change = {
      da: 'preso',
      a,
      chi: name,
      perche: 'la prova ha respinto le schedine',
      claim: claim.token
    } as const
    const owned = accepted.length > 0 && !inDoubt ? await renewLease(tx, claim) : await move(tx, id, change)
    if (!owned || inDoubt) return false
    for (const [at, { indice, capo }] of rows.entries()) {
      if (!refused.has(capo)) continue
      await tx
        .update(schedine)
        .set(refusalOf(rehearsal.schedine[at]!))
        .where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
    }
    return true
  })
  if (changed && accepted.length === 0 && !claim.caller.hold()) {
    const [submission] = await db.select({ ricevuta: invii.ricevuta }).from(invii).where(eq(invii.id, id))
    await alarm('refused-late', { invio: id, ...submission })
  }
  return changed ? accepted : []
}

/** What is written of a row that is not sent. */
function refusalOf (row: RowVerdict): RowVerdict {
  return row.esito === 'rifiutata'
    ? row
    : {
        esito: 'rifiutata',
        dettaglio: "Non inviata: un'altra schedina della stessa famiglia o gruppo è stata rifiutata"
      }
}
