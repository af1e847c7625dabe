import { fileURLToPath } from 'node:url'
import { migrate as drizzleMigrate } from 'drizzle-orm/postgres-js/migrator'
import { connect, type SessionSettings } from './connect.ts'
import { LOCKS } from './locks.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url))

/**
 * Brings the database to the present schema. Instances that start together queue on an advisory lock:
 * drizzle's own `migrate` fails when two run at once. The lock lives on the single connection used here.
 */
export async function migrate (url: string, settings?: SessionSettings): Promise<void> {
  const { sql, db, close } = connect(url, 1, settings)
  try {
    await sql`select pg_advisory_lock(${LOCKS.migrations})`
    await drizzleMigrate(db, { migrationsFolder: MIGRATIONS })
  } finally {
    await close()
  }
}
