import type postgres from 'postgres'
import { quoted, readTables } from './tables.ts'

/** Where the foreign keys wait: of this transaction alone. */
const KEYS = 'restored_foreign_keys'

/**
 * What keeps rows as they are is put aside while rows are copied, and back afterwards, in the same transaction: the
 * triggers of the product, which would count or seal anew, and foreign keys, so that the order of tables is no matter.
 * A foreign key that comes back is checked on all rows. What the migrations have written is taken out.
 */
export const withoutRules = {
  async begin (tx: postgres.TransactionSql): Promise<void> {
    await tx.unsafe(`create temporary table ${KEYS} on commit drop as
      select conrelid::regclass::text as tabella, quote_ident(conname) as nome, pg_get_constraintdef(oid) as regola
      from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`)
    for (const { tabella, nome } of await readKeys(tx)) {
      await tx.unsafe(`alter table ${tabella} drop constraint ${nome}`)
    }
    const tables = await names(tx)
    for (const name of tables) await tx.unsafe(`alter table ${name} disable trigger user`)
    await tx.unsafe(`truncate ${tables.join(', ')}`)
  },

  async end (tx: postgres.TransactionSql): Promise<void> {
    for (const name of await names(tx)) await tx.unsafe(`alter table ${name} enable trigger user`)
    for (const { tabella, nome, regola } of await readKeys(tx)) {
      await tx.unsafe(`alter table ${tabella} add constraint ${nome} ${regola}`)
    }
    await tx.unsafe(`drop table ${KEYS}`)
  }
}

async function names (tx: postgres.TransactionSql): Promise<string[]> {
  return (await readTables(tx)).map(({ name }) => quoted(name))
}

function readKeys (tx: postgres.TransactionSql) {
  return tx.unsafe<{ tabella: string, nome: string, regola: string }[]>(`select * from ${KEYS}`)
}
