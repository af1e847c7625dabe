import type postgres from 'postgres'
import type { Schema } from '#src/database/known-schema.ts'

/** A table of the product, and its columns but for those that PostgreSQL computes. */
export interface Table { name: string, columns: string[] }

/** How values are spelled, whatever the database's own settings: what one server writes, another one reads. */
export const SPELLING = `set local datestyle to 'ISO, YMD'; set local intervalstyle to 'postgres';
  set local extra_float_digits to 3; set local bytea_output to 'hex'`

/** The product's tables, by name. Those of extensions are not among them. */
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
 * What of the tables a restore can put in, into tables that the migrations make, and the names of the rest: tables and
 * columns that an operator has added.
 */
export function onlyKnown (tables: readonly Table[], schema: Schema): { own: Table[], foreign: string[] } {
  const own: Table[] = []
  const foreign: string[] = []
  for (const { name, columns } of tables) {
    const known = schema.get(name)
    if (!known) {
      foreign.push(name)
      continue
    }
    own.push({ name, columns: columns.filter((column) => known.includes(column)) })
    foreign.push(...columns.filter((column) => !known.includes(column)).map((column) => `${name}.${column}`))
  }
  return { own, foreign }
}

/** A table with its columns, as `COPY` names them. */
export function copyTarget ({ name, columns }: Table): string {
  return `${quoted(name)} (${columns.map(quoted).join(', ')})`
}

export function quoted (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The last values of the sequences that have given one. Of values given meanwhile, later ones. */
export async function readSequences (sql: postgres.ISql): Promise<Record<string, string>> {
  const rows = await sql<{ name: string, last: string }[]>`
    select sequencename as name, last_value::text as last from pg_sequences
    where schemaname = current_schema() and last_value is not null order by 1`
  return Object.fromEntries(rows.map(({ name, last }) => [name, last]))
}

/** Has sequences go on behind these values. Those that an operator had made are not there. */
export async function setSequences (sql: postgres.ISql, values: Record<string, string>): Promise<void> {
  for (const [name, last] of Object.entries(values)) {
    await sql`select setval(to_regclass(quote_ident(${name})), ${last}::bigint)`
  }
}
