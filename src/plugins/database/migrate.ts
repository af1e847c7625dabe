import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { migrate as drizzleMigrate } from 'drizzle-orm/postgres-js/migrator'
import type postgres from 'postgres'
import { within } from '#src/lib/within.ts'
import { connect, type SessionSettings } from './connect.ts'
import { LOCKS } from './locks.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url))

/** Time for a first answer. The driver's own limit ends when a peer says anything at all. */
const ANSWER_WITHIN_MS = 10_000

/**
 * Brings the database to the present schema. Instances that start together queue on an advisory lock:
 * drizzle's own `migrate` fails when two run at once. The lock lives on the single connection used here.
 * @throws NewerDatabaseError, SilentDatabaseError
 */
export async function migrate (url: string, settings?: SessionSettings): Promise<void> {
  const { sql, db, close } = connect(url, 1, settings)
  try {
    await requireAnswer(sql)
    await sql`select pg_advisory_lock(${LOCKS.migrations})`
    await refuseNewer(sql)
    await drizzleMigrate(db, { migrationsFolder: MIGRATIONS })
  } finally {
    await close()
  }
}

/** The database has seen migrations that this program does not know: a newer version works on it, or did. */
export class NewerDatabaseError extends Error {}

/** What is connected to gives no answer: it may be no PostgreSQL. */
export class SilentDatabaseError extends Error {}

async function requireAnswer (sql: postgres.Sql): Promise<void> {
  let hasAnswered = false
  await within(ANSWER_WITHIN_MS, sql`select 1`.then(() => { hasAnswered = true }))
  if (!hasAnswered) throw new SilentDatabaseError()
}

async function refuseNewer (sql: postgres.Sql): Promise<void> {
  const [{ made }] = await sql<[{ made: boolean }]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as made`
  if (!made) return
  const [{ latest }] = await sql<[{ latest: string | null }]>`
    select max(created_at) as latest from drizzle.__drizzle_migrations`
  const known = readMigrationFiles({ migrationsFolder: MIGRATIONS }).at(-1)!.folderMillis
  if (Number(latest) > known) throw new NewerDatabaseError()
}
