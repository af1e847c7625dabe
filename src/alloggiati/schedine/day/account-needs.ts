import { apartmentsOfUnits } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import { UNIT_NEEDED } from '../../accounts/choose-account.ts'
import type { PoliceAccounts } from '../../accounts/police-accounts.ts'
import { sentApartments, usesApartments } from '../../ledger/sent-apartments.ts'

/** The account of a booking of the day, and the apartments that it may have. */
interface Needs {
  /** Undefined if the booking cannot be sent. Then `problem` has the field and the text of the reason. */
  account: string | undefined
  problem: [campo: string, messaggio: string] | undefined
  /** The apartments of its earlier Sends, and the one of its unit. */
  before: readonly number[]
  ofUnit: number | undefined
  /** The account manages apartments. */
  hasApartments: boolean
}

/** Reads the account of each booking of a day, and its apartments. */
export async function readNeeds (
  accounts: PoliceAccounts, ids: readonly number[], day: Day
): Promise<{ of (booking: number): Needs }> {
  const { db } = accounts.base
  const [inUse, accountOf, ofUnits] = await Promise.all([
    accounts.read(), accounts.accountOf(db, ids), apartmentsOfUnits(db, ids)
  ])
  const byAccount = Map.groupBy(ids, (id) => accountOf(id).account)
  const before = new Map<number, readonly number[]>()
  const withApartments = new Set<string>()
  for (const [account, own] of byAccount) {
    if (account === undefined) continue
    for (const [id, apartments] of await sentApartments(db, account, own)) before.set(id, apartments)
    const hasApartments = inUse.named(account)?.categoria === 'appartamenti' ||
      own.some((id) => ofUnits.has(id)) || await usesApartments(db, account, day)
    if (hasApartments) withApartments.add(account)
  }
  return {
    of (id) {
      const found = accountOf(id)
      const account = found.account !== undefined && inUse.named(found.account) ? found.account : undefined
      return {
        account,
        problem: account === undefined ? problemOf(found.missing === 'unita', found.establishment) : undefined,
        before: before.get(id) ?? [],
        ofUnit: ofUnits.get(id),
        hasApartments: account !== undefined && withApartments.has(account)
      }
    }
  }
}

function problemOf (isUnassigned: boolean, establishment = 1): Needs['problem'] {
  return isUnassigned
    ? ['unita_id', UNIT_NEEDED]
    : ['struttura_id', `Alla struttura ${establishment} manca un account della Polizia utilizzabile: salvarlo con ` +
        `PUT /api/v1/strutture/${establishment}/polizia`]
}
