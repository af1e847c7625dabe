import type { FileBody } from '#schemas/alloggiati.ts'
import { DOCUMENT_FIELDS, type Schedina, type Segnalazione, type Soggiorno } from '#schemas/schedina.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import { InvioFallito } from '../errors.ts'
import { chooseAccount, type Chosen } from '../accounts/choose-account.ts'
import type { PoliceAccounts } from '../accounts/police-accounts.ts'
import type { LedgerContext } from '../ledger/ledger-context.ts'
import { withApartment } from '../ledger/sent-apartments.ts'
import type { Channel } from '../rules/case.ts'
import { validate, type AcceptedList } from '../rules/validate.ts'
import type { Tables } from '../tables/code-tables.ts'

/** Dependencies of the routes that accept schedine. */
export interface SchedineContext {
  accounts: PoliceAccounts
  /** Keys for the fingerprints of guests, which are compared with the fingerprints of sent guests. */
  keys: Keys
  mode: LedgerContext['mode']
  clock: Clock
  tables (): Promise<Tables>
}

/** A request about a list of guests and their stay. */
export interface Order extends FileBody {
  /** For each guest, the caller's index. Missing if it equals the index in the list. */
  indices?: readonly number[]
  /** Warnings about guests who are sent with other data than stored. Errors about their documents quote them. */
  avvisi?: readonly Segnalazione[]
  /** For saved guests of a booking: its version when they were read. */
  versions?: ReadonlyMap<number, number>
  /** The nights of each guest, if they differ from the nights of the stay. */
  nights?: readonly number[]
  /** The arrival that the caller named. */
  dal?: Day | undefined
}

/** A request that passed the rules: guests, stay, and the warnings about them. */
export interface Accepted extends AcceptedList, Pick<Order, 'indices' | 'versions'> {
  stay: Soggiorno
  warnings: readonly Segnalazione[]
}

const STAY_FIELDS = ['check_in', 'check_out', 'numero_notti', 'id', 'id_appartamento', 'struttura_id'] as const

/** Warnings about fields in which the two objects for the stay differ. */
function differences ({ prenotazione, soggiorno }: Pick<Order, 'prenotazione' | 'soggiorno'>): Segnalazione[] {
  const first: Record<string, unknown> = prenotazione ?? {}
  const second: Record<string, unknown> = soggiorno ?? {}
  const differing = STAY_FIELDS.filter((name) =>
    first[name] !== undefined && second[name] !== undefined && first[name] !== second[name])
  return differing.map((name) => ({
    ospite: 0, campo: `soggiorno.${name}`, messaggio: `Diverso da prenotazione.${name}, che vale`
  }))
}

/** Validates a list of guests as of today. With an apartment in the stay, lines have 174 characters. */
export async function validateGuests (
  { tables, clock }: SchedineContext,
  ospiti: readonly Schedina[],
  stay: Soggiorno,
  { nights, channel }: { nights?: readonly number[] | undefined, channel?: Channel | undefined } = {}
) {
  return validate({
    ospiti, soggiorno: stay, nights, tables: await tables(), today: clock.today(), ...channel && { channel }
  })
}

/** If the caller named `dal`, remarks on the arrival refer to `dal` instead. */
export function namedByCaller (remarks: readonly Segnalazione[], dal: Day | undefined): Segnalazione[] {
  return remarks.map((each) => dal !== undefined && each.campo === 'check_in' ? { ...each, campo: 'dal' } : each)
}

/**
 * Adds to errors about a guest's document the reason why the guest needs one, and the next step.
 * @param reasons remarks on guests who are sent with other data than stored, with their places in the booking
 * @param places the place in the booking of each guest in the list, if it differs from the index
 */
export function withReasons (
  errors: readonly Segnalazione[], reasons: readonly Segnalazione[], places: readonly number[] | undefined
): Segnalazione[] {
  return errors.map((each) => {
    const place = places?.[each.ospite] ?? each.ospite
    const why = reasons.find(({ ospite }) => ospite === place)
    if (why === undefined || !DOCUMENT_FIELDS.some((name) => name === each.campo)) return each
    return { ...each, messaggio: `${each.messaggio}. ${why.messaggio}: inserire il documento dell’ospite` }
  })
}

/**
 * Validates a request and returns its guests as records and lines.
 * @throws InvioFallito (VALIDAZIONE) if a rule is broken
 * @throws CampiNonValidi if the request names no apartment, and the booking was sent with several
 */
export async function accept (
  context: SchedineContext,
  { ospiti, prenotazione, soggiorno, indices, versions, nights, dal, avvisi = [] }: Order,
  { ledger }: Pick<Chosen, 'ledger'>,
  channel?: Channel
): Promise<Accepted> {
  const named = { ...soggiorno, ...prenotazione }
  const stay = ledger === null ? named : await withApartment(named, ledger.db, ledger.service.account)
  const { errors: found, warnings: given, accepted } = await validateGuests(context, ospiti, stay, { nights, channel })
  const numbered = (each: Segnalazione) => ({ ...each, ospite: indices?.[each.ospite] ?? each.ospite })
  const errors = namedByCaller(withReasons(found, avvisi, indices), dal).map(numbered)
  if (accepted === null) throw new InvioFallito('VALIDAZIONE', { messaggio_soap: errors[0]?.messaggio ?? '', errors })
  const warnings = [...given.map(numbered), ...differences({ prenotazione, soggiorno })]
  return { ...accepted, stay, warnings, indices, versions }
}

/** The account of a request, by the booking and the establishment in its stay. */
export function accountFor (
  { accounts }: SchedineContext, { prenotazione, soggiorno }: Pick<Order, 'prenotazione' | 'soggiorno'>
): Promise<Chosen> {
  const { id = null, struttura_id } = { ...soggiorno, ...prenotazione }
  return chooseAccount(accounts, accounts.base.db, { booking: id, establishment: struttura_id })
}
