import type { FileBody } from '#schemas/alloggiati.ts'
import type { Schedina, Soggiorno } from '#schemas/schedina.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Clock } from '#src/lib/time.ts'
import { encode, type RecordSchedina } from '../codec/codec.ts'
import { InvioFallito } from '../errors.ts'
import type { LedgerContext } from '../ledger/context.ts'
import { groups } from '../rules/groups.ts'
import { validate } from '../rules/validate.ts'
import type { Tables } from '../tables/tables.ts'

/** What routes that take schedine work with. */
export interface SchedineContext {
  /** Null without credentials: then nothing can be sent. */
  ledger: LedgerContext | null
  clock: Clock
  tables (): Promise<Tables>
}

/** A request that passed the rules. */
export interface Accepted {
  records: RecordSchedina[]
  /** The same records as lines. */
  lines: string[]
  /** For each guest the index of the leader of its family or group. */
  leaders: number[]
  stay: Soggiorno
}

/** Judges a list of guests by the rules, as of today. A stay that names an apartment is of the longer lines. */
export async function judge ({ tables, clock }: SchedineContext, ospiti: readonly Schedina[], stay: Soggiorno) {
  return validate({
    ospiti,
    soggiorno: stay,
    tables: await tables(),
    today: clock.today(),
    fileUnico: stay.id_appartamento !== undefined
  })
}

/**
 * A request's guests as records and lines.
 * @throws CampiNonValidi without a stay; InvioFallito (VALIDAZIONE) where a rule is broken
 */
export async function accept (
  context: SchedineContext,
  { ospiti, prenotazione, soggiorno }: FileBody
): Promise<Accepted> {
  if (prenotazione === undefined && soggiorno === undefined) {
    throw new CampiNonValidi({ campo: 'prenotazione', messaggio: 'è obbligatorio se manca soggiorno' })
  }
  const stay = { ...soggiorno, ...prenotazione }
  const { errors, records } = await judge(context, ospiti, stay)
  if (records === null) throw new InvioFallito('VALIDAZIONE', { messaggio_soap: errors[0]!.messaggio, errors })
  // The groups name every guest, in order.
  const leaders = groups(ospiti).flatMap((group) => group.map(() => group[0]!))
  return { records, lines: records.map(encode), leaders, stay }
}
