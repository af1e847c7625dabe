import type { FieldError } from '#schemas/common.ts'
import type { EstablishmentAccount, EstablishmentAccountBody } from '#schemas/police-account.ts'
import { FIRST_ESTABLISHMENT } from '#src/bookings/index.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { AccountInUso } from '../errors.ts'
import { accountName } from '../service/police-service.ts'
import { countUnfinished, isUsedElsewhere, readTest } from './account-rows.ts'
import type { AccountsInUse, PoliceAccounts } from './police-accounts.ts'

const CREDENTIALS = ['utente', 'password', 'wskey'] as const

/** An account has all three credentials, or refers to another establishment. */
export function accountBodyErrors (body: Readonly<Record<string, unknown>>): FieldError[] {
  const given = CREDENTIALS.filter((name) => body[name] !== undefined)
  if (body.di_struttura !== undefined) {
    return [...given, ...body.categoria === undefined ? [] : ['categoria']].map((campo) => ({
      campo, messaggio: 'non vale insieme con di_struttura'
    }))
  }
  return CREDENTIALS.filter((name) => !given.includes(name)).map((campo) => ({
    campo, messaggio: 'è un campo obbligatorio senza di_struttura'
  }))
}

/** The establishment whose account is changed, and the accounts in use. */
interface Target { inUse: AccountsInUse, mode: EstablishmentAccount['modalita'], id: number }

/**
 * @throws CampiNonValidi when another establishment has the account, or `di_struttura` is not another establishment
 * with an account of its own
 */
export async function requireUsable (
  db: Executor, { inUse, mode, id }: Target, { utente, di_struttura }: EstablishmentAccountBody
): Promise<void> {
  const first = id === FIRST_ESTABLISHMENT ? undefined : inUse.sourceOf(FIRST_ESTABLISHMENT)
  if (utente !== undefined) {
    const isOfFirst = first?.name.toUpperCase() === accountName(mode, utente).toUpperCase()
    if (!isOfFirst && !await isUsedElsewhere(db, { struttura_id: id, modalita: mode }, utente)) return
    const messaggio = 'è già l’account di un’altra struttura: per usarlo anche qui indicare di_struttura'
    throw new CampiNonValidi({ campo: 'utente', messaggio })
  }
  const isReferring = inUse.rows.some((row) => row.struttura_id === di_struttura && row.di_struttura !== null)
  const hasOwn = di_struttura !== id && !isReferring && inUse.sourceOf(di_struttura!) !== undefined
  if (!hasOwn) throw new CampiNonValidi({ campo: 'di_struttura', messaggio: 'non ha un account proprio' })
}

/**
 * Refuses to take an account out of use while its submissions are unfinished.
 * @param next the name of the account that replaces it, if any
 * @throws AccountInUso
 */
export async function refuseUnfinished (tx: Transaction, { inUse, mode, id }: Target, next?: string): Promise<void> {
  const row = inUse.rows.find(({ struttura_id }) => struttura_id === id)
  const name = row?.utente ? accountName(mode, row.utente) : undefined
  if (name === undefined || name === next) return
  const unfinished = await countUnfinished(tx, name)
  if (unfinished > 0) throw new AccountInUso(String(unfinished))
}

/** The account of an establishment as the API shows it, without secrets. */
export async function presentAccount (
  db: Executor, accounts: PoliceAccounts, modalita: EstablishmentAccount['modalita'], id: number
): Promise<EstablishmentAccount> {
  const inUse = await accounts.read()
  const source = inUse.sourceOf(id)
  const account = inUse.of(id)
  const row = inUse.rows.find(({ struttura_id }) => struttura_id === id)
  const isReferring = row !== undefined && row.di_struttura !== null && source?.kind !== 'ambiente'
  return {
    struttura_id: id,
    configurato: account !== undefined,
    utente: account?.ledger.service.utente ?? row?.utente ?? null,
    origine: source === undefined ? null : isReferring ? 'altra_struttura' : source.kind,
    di_struttura: row?.di_struttura ?? null,
    categoria: account?.categoria ?? null,
    modalita,
    ultima_prova: source ? await readTest(db, source.name) : null
  }
}
