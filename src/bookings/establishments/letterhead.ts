import { eq, sql } from 'drizzle-orm'
import { struttura as t } from '#drizzle/tables/establishments.ts'
import { establishmentFields, type EstablishmentUpdate } from '#schemas/establishment.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { StrutturaCambiata, StrutturaNonTrovata } from '../errors.ts'
import { FIRST_ESTABLISHMENT } from './establishment-records.ts'

/** The establishment's data in letters. A missing fact is null. */
type EstablishmentFields = Required<Omit<EstablishmentUpdate, 'logo' | 'updated_at'>>

/** The establishment's data with their version, which is 0 before the first change. */
export interface StoredEstablishment { fields: EstablishmentFields, versione: number, updated_at: Date | null }

type Row = typeof t.$inferSelect

const CONTEXT = 'struttura.wifi_password'
const TEXTS = Object.keys(establishmentFields) as (keyof typeof establishmentFields)[]
const NAMES = [...TEXTS, 'testi'] as const
/** The facts that identify an establishment. A letter never takes these from another establishment. */
const IDENTITY = ['nome', 'indirizzo', 'luogo', 'cin'] as const satisfies (keyof EstablishmentFields)[]
const NOTHING = Object.fromEntries(NAMES.map((name) => [name, null])) as EstablishmentFields

/** The fields that a change names. Ignores read-only fields, because clients may send back the whole response. */
export function changedFields (change: EstablishmentUpdate): (keyof EstablishmentFields)[] {
  return NAMES.filter((name) => change[name] !== undefined)
}

export type Establishments = ReturnType<typeof establishments>

/** The data of the establishments in letters. */
export function establishments (keys: Keys) {
  function present (row: Row | undefined): StoredEstablishment {
    if (!row) return { fields: NOTHING, versione: 0, updated_at: null }
    const sealed = row.wifi_password
    const password = sealed && keys.unseal(sealed, CONTEXT).toString()
    const { versione, updated_at } = row
    const values = { ...row, wifi_password: password }
    const fields = Object.fromEntries(NAMES.map((name) => [name, values[name]])) as EstablishmentFields
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

  /** Locks the row. Creates the row of the first establishment if needed. @throws StrutturaNonTrovata */
  async function lock (tx: Transaction, id: number): Promise<Row> {
    if (id === FIRST_ESTABLISHMENT) await tx.insert(t).values({ id }).onConflictDoNothing()
    const [row] = await tx.select().from(t).where(eq(t.id, id)).for('update')
    if (!row) throw new StrutturaNonTrovata()
    return row
  }

  async function change (tx: Transaction, id: number, values: Partial<Row>): Promise<StoredEstablishment> {
    const [row] = await tx.update(t).set({ ...values, versione: sql`${t.versione} + 1`, updated_at: sql`now()` })
      .where(eq(t.id, id)).returning()
    return present(row)
  }

  /** @throws StrutturaNonTrovata when the establishment does not exist, unless it is the first */
  async function find (db: Executor, id = FIRST_ESTABLISHMENT): Promise<StoredEstablishment> {
    const [row] = await db.select().from(t).where(eq(t.id, id))
    if (!row && id !== FIRST_ESTABLISHMENT) throw new StrutturaNonTrovata()
    return present(row)
  }

  return {
    find,

    /** The data in a letter. An establishment without own texts uses the texts of the first one. */
    async ofLetters (db: Executor, id = FIRST_ESTABLISHMENT): Promise<EstablishmentFields> {
      const { fields } = await find(db, id)
      const own = NAMES.filter((name) => !IDENTITY.some((each) => each === name))
      if (id === FIRST_ESTABLISHMENT || own.some((name) => fields[name] !== null)) return fields
      const { nome, indirizzo, luogo, cin } = fields
      return { ...(await find(db)).fields, nome, indirizzo, luogo, cin }
    },

    /**
     * Changes the fields that are present.
     * @param isExpected returns whether the current version may be changed
     * @throws StrutturaCambiata (412), StrutturaNonTrovata
     */
    async update (
      tx: Transaction,
      update: EstablishmentUpdate,
      isExpected: (versione: number) => Promise<boolean>,
      id = FIRST_ESTABLISHMENT
    ): Promise<StoredEstablishment> {
      const row = await lock(tx, id)
      if (!await isExpected(row.versione)) throw new StrutturaCambiata()
      const values = stored(update)
      return Object.keys(values).length === 0 ? present(row) : await change(tx, id, values)
    },

    /** Counts a change of the logo as a change of the first establishment. The locked row makes other changes wait. */
    async touch (tx: Transaction): Promise<void> {
      await lock(tx, FIRST_ESTABLISHMENT)
      await change(tx, FIRST_ESTABLISHMENT, {})
    }
  }
}
