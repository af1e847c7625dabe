import type postgres from 'postgres'

/** The instant by which the last migration of a database is known; undefined: it has none. */
export async function lastMigration (sql: postgres.ISql): Promise<number | undefined> {
  const [{ made }] = await sql<[{ made: boolean }]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as made`
  if (!made) return undefined
  const [{ latest }] = await sql<[{ latest: string | null }]>`
    select max(created_at) as latest from drizzle.__drizzle_migrations`
  return latest === null ? undefined : Number(latest)
}
