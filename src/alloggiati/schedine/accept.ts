import type { FastifyBaseLogger } from 'fastify'
import type { FileBody } from '#schemas/alloggiati.ts'
import type { Soggiorno } from '#schemas/schedina.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Clock } from '#src/lib/time.ts'
import type { RecordSchedina } from '../codec/codec.ts'
import { InvioFallito } from '../errors.ts'
import type { LedgerContext } from '../ledger/context.ts'
import { validate } from '../rules/validate.ts'
import type { Tables } from '../tables/tables.ts'

/** What a submission works with; without credentials there is no ledger to write to. */
export interface Desk {
  ledger: LedgerContext | null
  clock: Clock
  log: FastifyBaseLogger
  tables (): Promise<Tables>
}

/** A request that passed the rules: records, and the same records as rows. */
export interface Accepted {
  records: RecordSchedina[]
  lines: string[]
  /** For each guest the index of the leader of its family or group. */
  capi: number[]
  stay: Soggiorno
}

/**
 * A request's guests as records and rows.
 * @throws CampiNonValidi without a stay; InvioFallito (VALIDAZIONE) where a rule is broken
 */
export async function accept (
  { tables, clock }: Desk,
  { ospiti, prenotazione, soggiorno }: FileBody
): Promise<Accepted> {
  if (prenotazione === undefined && soggiorno === undefined) {
    throw new CampiNonValidi({ campo: 'prenotazione', messaggio: 'è obbligatorio se manca soggiorno' })
  }
  const stay = { ...soggiorno, ...prenotazione }
  const fileUnico = stay.id_appartamento !== undefined
  const { errors, accepted } = validate({
    ospiti,
    soggiorno: stay,
    tables: await tables(),
    today: clock.today(),
    fileUnico
  })
  if (accepted === null) throw new InvioFallito('VALIDAZIONE', { messaggio_soap: errors[0]?.messaggio ?? '', errors })
  const { records, lines, leaders: capi } = accepted
  return { records, lines, capi, stay }
}
