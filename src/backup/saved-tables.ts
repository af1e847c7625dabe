import { finished } from 'node:stream/promises'
import type postgres from 'postgres'
import { columnsCreated } from '#src/database/migrate.ts'

/** A table and its columns, without generated ones. */
export interface Table { name: string, columns: string[] }

/** Session timeouts for commands that may run for a long time, such as backups and restores. */
export const LONG_TIMEOUTS = { statement_timeout: '0', idle_in_transaction_session_timeout: '3600000' }

/** Fixed output formats, so that a server with other settings can read the values. */
export const OUTPUT_FORMAT = `set local datestyle to 'ISO, YMD'; set local intervalstyle to 'postgres';
  set local extra_float_digits to 3; set local bytea_output to 'hex'`

/** The tables by name, without those of extensions. */
export async function readTables (sql: postgres.ISql): Promise<Table[]> {
  return sql<Table[]>`
    select c.relname as name, json_agg(a.attname order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      and a.attgenerated = ''
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
        and d.deptype = 'e')
    group by c.oid order by c.relname collate "C"`
}

/**
 * Separates the tables and columns that the migrations have made from those that an operator has added. All tables of a
 * database with a newer version are saved.
 * @param migration the last migration of the database
 */
export function ownTables (tables: Table[], migration: number): { own: Table[], foreign: string[] } {
  const made = columnsCreated(migration)
  if (!made) return { own: tables, foreign: [] }
  const isOwn = (table: string, column: string) => made.get(table)?.has(column) === true
  return {
    own: tables.filter(({ name }) => made.has(name))
      .map(({ name, columns }) => ({ name, columns: columns.filter((column) => isOwn(name, column)) })),
    foreign: tables.flatMap(({ name, columns }) => made.has(name)
      ? columns.filter((column) => !isOwn(name, column)).map((column) => `${name}.${column}`)
      : [name])
  }
}

/** A table with its columns in the syntax of `COPY`. */
export function copyTarget ({ name, columns }: Table): string {
  return `${quoted(name)} (${columns.map(quoted).join(', ')})`
}

/** Streams the rows of a table in the text format of `COPY`. */
export async function * copyOut (tx: postgres.TransactionSql, table: Table): AsyncGenerator<Buffer> {
  const rows = await tx.unsafe(`copy ${copyTarget(table)} to stdout`).readable()
  try {
    yield * rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  } finally {
    // The connection accepts no other statement before the end of the copy, so the rest is read and discarded.
    await finished(rows.resume()).catch(() => {})
  }
}

function quoted (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The last values of the sequences in use. They are read outside the snapshot, so they may be later. */
export async function readSequences (sql: postgres.ISql): Promise<Record<string, string>> {
  return Object.fromEntries(await sql<{ name: string, last: string }[]>`
    select sequencename as name, last_value::text as last from pg_sequences
    where schemaname = current_schema() and last_value is not null order by 1`.values()) as Record<string, string>
}

/**
 * Prepares the tables for a load. Disables triggers, because they would count or chain rows again. Drops foreign keys,
 * so that tables can be loaded in any order. Deletes the rows that the migrations have inserted.
 * @returns a function that restores triggers and foreign keys in the same transaction. PostgreSQL then checks all rows
 */
export async function prepareTables (tx: postgres.TransactionSql): Promise<() => Promise<void>> {
  const tables = (await readTables(tx)).map(({ name }) => quoted(name))
  const keys = await tx<{ table: string, name: string, rule: string }[]>`
    select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as rule
    from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`
  for (const { table, name } of keys) await tx.unsafe(`alter table ${table} drop constraint ${name}`)
  for (const table of tables) await tx.unsafe(`alter table ${table} disable trigger user`)
  await tx.unsafe(`truncate ${tables.join(', ')}`)
  return async () => {
    for (const table of tables) await tx.unsafe(`alter table ${table} enable trigger user`)
    for (const { table, name, rule } of keys) await tx.unsafe(`alter table ${table} add constraint ${name} ${rule}`)
  }
}
