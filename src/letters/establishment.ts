import { eq, sql } from 'drizzle-orm'
import { struttura as t } from '#drizzle/tables/letters.ts'
import { establishmentFields, type EstablishmentUpdate } from '#schemas/establishment.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { StrutturaCambiata } from './errors.ts'

/** The establishment's data. A missing fact is null. */
type EstablishmentFields = Required<Omit<EstablishmentUpdate, 'logo' | 'updated_at'>>

/** The establishment's data with their version, which is 0 before the first change. */
export interface StoredEstablishment { fields: EstablishmentFields, versione: number, updated_at: Date | null }

type Row = typeof t.$inferSelect

const CONTEXT = 'struttura.wifi_password'
const TEXTS = Object.keys(establishmentFields) as (keyof typeof establishmentFields)[]
const NAMES = [...TEXTS, 'testi'] as const
const NOTHING = Object.fromEntries(NAMES.map((name) => [name, null])) as EstablishmentFields

/** The fields that a change names. Ignores read-only fields, because clients may send back the whole response. */
export function changedFields (change: EstablishmentUpdate): (keyof EstablishmentFields)[] {
  return NAMES.filter((name) => change[name] !== undefined)
}

export type Establishments = ReturnType<typeof establishments>

/** The establishment's data in the database. */
export function establishments (keys: Keys) {
  function present (row: Row | undefined): StoredEstablishment {
    if (!row) return { fields: NOTHING, versione: 0, updated_at: null }
    const sealed = row.wifi_password
    const password = sealed && keys.unseal(sealed, CONTEXT).toString()
    const testi = row.testi as EstablishmentFields['testi']
    const { id: _id, versione, updated_at, ...fields } = { ...row, testi, wifi_password: password }
    return { fields, versione, updated_at: versione === 0 ? null : updated_at }
  }

  /** The values to store. A text of blanks becomes null. */
  function stored (change: EstablishmentUpdate) {
    const texts = Object.fromEntries(TEXTS.filter((name) => change[name] !== undefined).map((name) =>
      [name, (change[name] ?? '').trim() === '' ? null : change[name]])) as Partial<EstablishmentFields>
    const { wifi_password: password, ...others } = texts
    const open = change.testi === undefined ? others : { ...others, testi: change.testi }
    return password === undefined
      ? open
      : { ...open, wifi_password: password === null ? null : keys.seal(password, CONTEXT) }
  }

  /** Creates the row if needed, and locks it. */
  async function lock (tx: Transaction): Promise<Row> {
    await tx.insert(t).values({ id: 1 }).onConflictDoNothing()
    const [row] = await tx.select().from(t).where(eq(t.id, 1)).for('update')
    return row!
  }

  async function change (tx: Transaction, values: Partial<Row>): Promise<StoredEstablishment> {
    const [row] = await tx.update(t).set({ ...values, versione: sql`${t.versione} + 1`, updated_at: sql`now()` })
      .where(eq(t.id, 1)).returning()
    return present(row)
  }

  return {
    async find (db: Executor): Promise<StoredEstablishment> {
      const [row] = await db.select().from(t).where(eq(t.id, 1))
      return present(row)
    },

    /**
     * Changes the fields that are present.
     * @param isExpected returns whether the current version may be changed
     * @throws StrutturaCambiata (412)
     */
    async update (
      tx: Transaction, update: EstablishmentUpdate, isExpected: (versione: number) => Promise<boolean>
    ): Promise<StoredEstablishment> {
      const row = await lock(tx)
      if (!await isExpected(row.versione)) throw new StrutturaCambiata()
      const values = stored(update)
      return Object.keys(values).length === 0 ? present(row) : await change(tx, values)
    },

    /** Counts a change of the logo as a change of the establishment. Its lock lets further changes wait. */
    async touch (tx: Transaction): Promise<void> {
      await lock(tx)
      await change(tx, {})
    }
  }
}
