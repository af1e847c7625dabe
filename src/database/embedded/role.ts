import type postgres from 'postgres'

export const USER = 'locanda'
export const DATABASE = 'locanda'

/**
 * The application's role and database, made when they are missing. The role owns its database and may create others,
 * and roles (the SQL console has its own). It is no superuser, so an injected statement reaches neither files nor
 * programs of the host; PostgreSQL 16 and later lets it change only the roles that it has made.
 */
export async function prepareDatabase (sql: postgres.Sql, password: string | undefined): Promise<void> {
  const [found] = await sql<{ role: boolean, database: boolean }[]>`
    select exists (select from pg_roles where rolname = ${USER}) as role,
           exists (select from pg_database where datname = ${DATABASE}) as database`
  if (!found?.role) {
    // A generated password has no quote in it (base64url); utility statements take no parameters.
    const secret = password === undefined ? '' : `password '${password}'`
    await sql.unsafe(`create role ${USER} login createdb createrole ${secret}`)
  }
  if (!found?.database) await sql.unsafe(`create database ${DATABASE} owner ${USER}`)
}
