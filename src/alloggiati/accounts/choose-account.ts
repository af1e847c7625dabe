import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Executor } from '#src/database/connect.ts'
import { InvioFallito } from '../errors.ts'
import type { AccountOfBooking, LedgerContext } from '../ledger/ledger-context.ts'
import type { AccountsInUse, PoliceAccounts } from './police-accounts.ts'

/** The ledger of the account that sends the guests, or the error for the request. */
export type Chosen = { ledger: LedgerContext, error?: undefined } | { ledger: null, error: Error }

/** Error text for a booking without a unit, when the account depends on the unit. */
export const UNIT_NEEDED = 'Assegnare una unità: le strutture hanno account diversi della Polizia'

/** The booking that guests belong to, and the establishment that the caller named. */
export interface Wanted { booking: number | null, establishment?: number | undefined }

/**
 * Chooses the account for guests: the account of their booking, else of the named establishment, else the account that
 * all establishments share. Returns an error if there is none, or if the booking belongs to another establishment than
 * the named one.
 */
export async function chooseAccount (accounts: PoliceAccounts, db: Executor, wanted: Wanted): Promise<Chosen> {
  const { booking, establishment } = wanted
  const [inUse, accountOf] = await Promise.all([accounts.read(), accounts.accountOf(db, [booking])])
  const ofBooking = accountOf(booking)
  if (establishment === undefined) return chosenOf(inUse, ofBooking, booking)
  const named = inUse.sourceOf(establishment)?.name
  if (ofBooking.missing !== 'unita' && booking !== null && ofBooking.account !== named) {
    return refused(new CampiNonValidi({
      campo: 'prenotazione.struttura_id', messaggio: `la prenotazione ${booking} è di un’altra struttura`
    }))
  }
  return chosenOf(inUse, named === undefined
    ? { account: undefined, missing: 'account', establishment }
    : { account: named, missing: null }, booking)
}

/** The ledger of the account found for guests, or the error if none is found or it is not in use. */
export function chosenOf (inUse: AccountsInUse, found: AccountOfBooking, booking: number | null): Chosen {
  if (found.missing === 'unita') {
    const campo = booking === null ? 'prenotazione.struttura_id' : 'unita_id'
    return refused(new CampiNonValidi({ campo, messaggio: booking === null ? ESTABLISHMENT_NEEDED : UNIT_NEEDED }))
  }
  const account = found.account === undefined ? undefined : inUse.named(found.account)
  return account ? { ledger: account.ledger } : refused(new InvioFallito('CREDENZIALI_MANCANTI', reasonOf(found)))
}

const ESTABLISHMENT_NEEDED = 'va indicata, o va indicata una prenotazione con unità (prenotazione.id): le ' +
  'strutture hanno account diversi della Polizia'

function reasonOf ({ establishment }: AccountOfBooking): { reason?: string } {
  return establishment === undefined
    ? {}
    : { reason: `alla struttura ${establishment} manca l’account (PUT /api/v1/strutture/${establishment}/polizia)` }
}

function refused (error: Error): Chosen {
  return { ledger: null, error }
}
