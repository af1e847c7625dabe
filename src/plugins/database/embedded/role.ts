import type postgres from 'postgres'

export const USER = 'locanda'
export const DATABASE = 'locanda'

/**
 * The application's role and database, made when they are missing. The role owns its database and may create others;
 * it is no superuser, so an injected statement reaches neither files nor programs of the host.
 */
export async function prepareDatabase (sql: postgres.Sql, password: string | undefined): Promise<void> {
  const [found] = await sql<{ role: boolean, database: boolean }[]>`
    select exists (select from pg_roles where rolname = ${USER}) as role,
           exists (select from pg_database where datname = ${DATABASE}) as database`
  if (!found?.role) {
    // A generated password has no quote in it (base64url); utility statements take no parameters.
    await sql.unsafe(`create role ${USER} login createdb ${password === undefined ? '' : `password '${password}'`}`)
  }
  if (!found?.database) await sql.unsafe(`create database ${DATABASE} owner ${USER}`)
}
