import { setTimeout as sleep } from 'node:timers/promises'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { migrate as drizzleMigrate } from 'drizzle-orm/postgres-js/migrator'
import type postgres from 'postgres'
import { within } from '#src/lib/within.ts'
import type { SessionSettings } from './client.ts'
import { connect } from './connect.ts'
import { lastMigration, MIGRATIONS, readJournal } from './journal.ts'
import { LOCKS } from './locks.ts'
import { postgresError } from './problems.ts'

/** So long a change waits for a table that others use: whoever wants that table meanwhile waits behind it. */
const LOCK_WITHIN_MS = 500
/**
 * Every fifth time it waits longer than `deadlock_timeout`, which is a second unless the database says otherwise: only
 * after that time does PostgreSQL end an autovacuum that holds the table.
 */
const LONGER_MS = 1300
const LONGER_EVERY = 5
/** The pause in which they pass. */
const PAUSE_MS = 1000
/** Who holds a table for longer than this is no request. */
const PATIENCE_MS = 30_000
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Carries out a transaction that changes tables, in a session that does nothing else afterwards: its statements may
 * take any time. Where a table is in use, it is rolled back, lets others pass and begins again.
 * @throws when a table is still in use half a minute after it was so for the first time
 */
export async function givingWay<T> (sql: postgres.Sql, work: () => Promise<T>): Promise<T> {
  // From the first refusal: the work until then may have been long.
  let limit = Infinity
  for (let attempt = 1; ; attempt++) {
    const within = attempt % LONGER_EVERY === 0 ? LONGER_MS : LOCK_WITHIN_MS
    await sql.unsafe(`set statement_timeout = 0; set lock_timeout = ${within}`)
    try {
      return await work()
    } catch (err) {
      if (postgresError(err)?.code !== LOCK_NOT_AVAILABLE || performance.now() > limit) throw err
      limit = Math.min(limit, performance.now() + PATIENCE_MS)
      await sleep(PAUSE_MS)
    }
  }
}

/** Time for a first answer. The driver's own limit ends when a peer says anything at all. */
const ANSWER_WITHIN_MS = 10_000

/**
 * Brings the database to the present schema. Instances that start together queue on an advisory lock:
 * drizzle's own `migrate` fails when two run at once. The lock lives on the single connection used here.
 * All that is to be done is one transaction, which gives way to others where a table is in use.
 * @param settings of the session
 * @param tell is told before a step that may take long
 * @returns what was done; undefined: the database was at the present schema
 * @throws NewerDatabaseError, SilentDatabaseError
 */
export async function migrate (
  url: string,
  settings?: SessionSettings,
  tell: (what: string, steps?: Steps) => void = () => {}
): Promise<Upgrade | undefined> {
  const { sql, db, close } = connect(url, 1, settings)
  try {
    await requireAnswer(sql)
    await takeTurn(sql, tell)
    const before = await lastMigration(sql)
    const latest = knownMigrations().at(-1)!.folderMillis
    if (before !== undefined && before > latest) throw new NewerDatabaseError()
    const steps = { from: nameOf(before), to: nameOf(latest) }
    if (before !== undefined && before < latest) tell('the database is being upgraded', steps)
    const begun = performance.now()
    await givingWay(sql, () => drizzleMigrate(db, { migrationsFolder: MIGRATIONS }))
    if (before === latest) return undefined
    return { ...steps, ms: Math.round(performance.now() - begun) }
  } finally {
    await close()
  }
}

/** From which migration to which. */
interface Steps {
  /** The last migration that was there; null: none was. */
  from: string | null
  to: string
}

/** What a start did to a database. */
export interface Upgrade extends Steps { ms: number }

/** The database has seen migrations that this program does not know: a newer version works on it, or did. */
export class NewerDatabaseError extends Error {}

/** What is connected to gives no answer: it may be no PostgreSQL. */
export class SilentDatabaseError extends Error {}

/** Every migration of this program, the earliest first. */
export function knownMigrations (): MigrationMeta[] {
  return readMigrationFiles({ migrationsFolder: MIGRATIONS })
}

/**
 * Carries migrations out in the caller's transaction, and records them as drizzle's own `migrate` does: for a database
 * that is to hold an older state first.
 */
export async function carryOut (tx: postgres.ISql, migrations: readonly MigrationMeta[]): Promise<void> {
  await tx.unsafe(`create schema if not exists drizzle;
    create table if not exists drizzle.__drizzle_migrations (
      id serial primary key, hash text not null, created_at bigint)`)
  for (const { sql, hash, folderMillis } of migrations) {
    for (const statement of sql) await tx.unsafe(statement)
    await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
  }
}

async function requireAnswer (sql: postgres.Sql): Promise<void> {
  let hasAnswered = false
  await within(ANSWER_WITHIN_MS, sql`select 1`.then(() => { hasAnswered = true }))
  if (!hasAnswered) throw new SilentDatabaseError()
}

/** An upgrade by another process may take longer than a statement of a request. */
async function takeTurn (sql: postgres.Sql, tell: (what: string) => void): Promise<void> {
  const [row] = await sql<[{ free: boolean }]>`select pg_try_advisory_lock(${LOCKS.migrations}) as free`
  if (row.free) return
  tell('another process starts on this database and may be upgrading it: waiting for it')
  await sql`set statement_timeout = 0`
  await sql`select pg_advisory_lock(${LOCKS.migrations})`
}

/** The name of a migration: that of its file. One that this program does not know is called by its instant. */
function nameOf (instant: number): string
function nameOf (instant: number | undefined): string | null
function nameOf (instant: number | undefined): string | null {
  if (instant === undefined) return null
  return readJournal().find(({ when }) => when === instant)?.tag ?? String(instant)
}
