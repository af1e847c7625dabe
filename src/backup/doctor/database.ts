import type postgres from 'postgres'
import type { Config } from '#src/config/config.ts'
import { lastMigration } from '#src/database/last-migration.ts'
import { knownMigrations } from '#src/database/migrate.ts'
import { fault, ok, warning, type Look } from './finding.ts'

const LEAST_VERSION = 140_000

/** Version, rights and migrations. */
export function database (sql: postgres.Sql, { QUERY_PASSWORD }: Config): Look {
  return async () => {
    const [found] = await sql<[{ number: number, version: string, tables: boolean, schemas: boolean, roles: boolean }]>`
      select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
        has_schema_privilege(current_schema(), 'CREATE') as tables,
        has_database_privilege(current_database(), 'CREATE') as schemas,
        (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) as roles`
    const { number, version, tables, schemas, roles } = found
    const name = `PostgreSQL ${version}`
    if (number < LEAST_VERSION) return fault(`${name} è troppo vecchio: serve la versione 14 o una successiva`)
    if (!tables || !schemas) return fault(`${name}: dare all’utente CREATE sul database e sullo schema public`)
    const last = await lastMigration(sql)
    const newest = knownMigrations().at(-1)!.folderMillis
    if (last !== undefined && last > newest) {
      return fault(`${name}: il database è di una versione di Locanda più recente di questa: usare quella`)
    }
    if (last !== newest) return warning(`${name}: lo schema si aggiorna al prossimo avvio del server`)
    return QUERY_PASSWORD !== undefined && !roles
      ? warning(`${name}: senza CREATEROLE la console SQL resta spenta`)
      : ok(`${name}, schema aggiornato`)
  }
}

const SKEW_MS = 5000

/** The clock of this machine, beside that of the database. Deadlines of the police depend on both. */
export function clock (sql: postgres.Sql): Look {
  return async () => {
    const before = Date.now()
    const [{ now }] = await sql<[{ now: string }]>`select (extract(epoch from clock_timestamp()) * 1000)::text as now`
    const after = Date.now()
    const skew = Math.max(before - Number(now), Number(now) - after, 0)
    return skew > SKEW_MS
      ? fault(`l’orologio di questa macchina e quello del database differiscono di ${Math.round(skew / 1000)} s: ` +
        'regolarli (NTP)')
      : ok('concorde con quello del database')
  }
}
