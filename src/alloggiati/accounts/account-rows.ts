import { randomUUID } from 'node:crypto'
import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import { account_polizia as tests, strutture_polizia as t } from '#drizzle/tables/alloggiati.ts'
import { invii } from '#drizzle/tables/ledger.ts'
import type { EstablishmentAccountBody } from '#schemas/police-account.ts'
import { UNFINISHED_STATES } from '#schemas/submission.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { PoliceService } from '../service/police-service.ts'
import type { Credentials } from '../service/soap/token.ts'

type Mode = PoliceService['mode']
export type AccountRow = typeof t.$inferSelect

const contextOf = (name: 'password' | 'wskey', chiave: string) => `strutture_polizia.${name}/${chiave}`

export function readAccountRows (db: Executor, mode: Mode): Promise<AccountRow[]> {
  return db.select().from(t).where(eq(t.modalita, mode))
}

/** The credentials of a row. Undefined if the establishment uses the account of another one. */
export function credentialsOf (keys: Keys, { utente, password, wskey, chiave }: AccountRow): Credentials | undefined {
  if (utente === null || password === null || wskey === null) return undefined
  const open = (name: 'password' | 'wskey', sealed: Buffer) => keys.unseal(sealed, contextOf(name, chiave)).toString()
  return { utente, password: open('password', password), wskey: open('wskey', wskey) }
}

/** Saves the account of an establishment. Unchanged credentials keep `chiave`, so a refused login is not repeated. */
export async function saveAccountRow (
  tx: Transaction, keys: Keys, { struttura_id, modalita }: Pick<AccountRow, 'struttura_id' | 'modalita'>,
  given: EstablishmentAccountBody
): Promise<void> {
  const { utente, password, wskey } = given
  const [before] = await tx.select().from(t)
    .where(and(eq(t.struttura_id, struttura_id), eq(t.modalita, modalita))).for('update')
  const old = before && credentialsOf(keys, before)
  const isSame = old?.utente === utente && old?.password === password && old?.wskey === wskey
  const values = {
    ...isSame && before ? before : newCredentials(keys, given),
    categoria: given.categoria ?? null,
    di_struttura: given.di_struttura ?? null
  }
  await tx.insert(t).values({ ...values, struttura_id, modalita })
    .onConflictDoUpdate({ target: [t.struttura_id, t.modalita], set: values })
}

/** Seals the credentials, bound to a new `chiave`. They are null if the establishment uses another one's account. */
function newCredentials (keys: Keys, { utente, password, wskey }: EstablishmentAccountBody) {
  const chiave = randomUUID()
  const seal = (name: 'password' | 'wskey', text: string | undefined) =>
    text === undefined ? null : keys.seal(text, contextOf(name, chiave))
  return { chiave, utente: utente ?? null, password: seal('password', password), wskey: seal('wskey', wskey) }
}

/** @returns whether the establishment had an account */
export async function deleteAccountRow (tx: Transaction, struttura_id: number, mode: Mode): Promise<boolean> {
  const deleted = await tx.delete(t).where(and(eq(t.struttura_id, struttura_id), eq(t.modalita, mode)))
    .returning({ id: t.struttura_id })
  return deleted.length > 0
}

/** Counts the unfinished submissions of an account. Only with that account can they be sent or proven by receipts. */
export function countUnfinished (db: Executor, account: string): Promise<number> {
  return db.$count(invii, and(eq(invii.utente, account), inArray(invii.stato, UNFINISHED_STATES)))
}

/** Whether another establishment has credentials for this user. The comparison ignores upper and lower case. */
export async function isUsedElsewhere (
  db: Executor, { struttura_id, modalita }: Pick<AccountRow, 'struttura_id' | 'modalita'>, utente: string
): Promise<boolean> {
  const isSame = sql`upper(${t.utente}) = upper(${utente})`
  return await db.$count(t, and(ne(t.struttura_id, struttura_id), eq(t.modalita, modalita), isSame)) > 0
}

/**
 * Saves the result of an account's login test.
 * @param prova_errore the code of the error, null after a success
 */
export async function saveTest (db: Executor, utente: string, prova_errore: string | null, at: Date): Promise<void> {
  const values = { provata_il: at.toISOString(), prova_errore }
  await db.insert(tests).values({ utente, ...values }).onConflictDoUpdate({ target: tests.utente, set: values })
}

/** Deletes the result of an account's login test, which may be about earlier credentials. */
export async function deleteTest (tx: Transaction, utente: string): Promise<void> {
  await tx.update(tests).set({ provata_il: null, prova_errore: null }).where(eq(tests.utente, utente))
}

export async function readTest (db: Executor, utente: string) {
  const [found] = await db.select({ at: tests.provata_il, error: tests.prova_errore }).from(tests)
    .where(eq(tests.utente, utente))
  if (found === undefined || found.at === null) return null
  return { quando: new Date(found.at).toISOString(), riuscita: found.error === null, codice: found.error }
}
