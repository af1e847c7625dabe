import { setTimeout as sleep } from 'node:timers/promises'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { migrate as drizzleMigrate } from 'drizzle-orm/postgres-js/migrator'
import type postgres from 'postgres'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import type { SessionSettings } from './client.ts'
import { connect } from './connect.ts'
import { lastMigration, MIGRATIONS, readJournal } from './journal.ts'
import { LOCKS } from './locks.ts'
import { postgresError } from './problems.ts'

/** `lock_timeout` for DDL. Queries queue behind a waiting ALTER TABLE, so it is short. */
const LOCK_WITHIN_MS = 500
/**
 * Every fifth attempt exceeds `deadlock_timeout` (one second by default). Only then does PostgreSQL cancel an
 * autovacuum that locks the table.
 */
const LONGER_MS = 1300
const LONGER_EVERY = 5
/** Pause in which the queued queries run. */
const PAUSE_MS = 1000
/** Maximum wait for a locked table. Requests lock tables for less. */
const LOCKED_MAX_MS = 30_000
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Runs a DDL transaction without statement timeout. The session keeps these timeouts, so do not reuse it. On a lock
 * timeout it rolls back, waits until other queries have run, and retries.
 * @throws if a table is still locked half a minute after the first lock timeout
 */
export async function retryOnLockTimeout<T> (sql: postgres.Sql, work: () => Promise<T>): Promise<T> {
  // The limit counts from the first lock timeout, because the work before it may be long.
  let limit = Infinity
  for (let attempt = 1; ; attempt++) {
    const within = attempt % LONGER_EVERY === 0 ? LONGER_MS : LOCK_WITHIN_MS
    await sql.unsafe(`set statement_timeout = 0; set lock_timeout = ${within}`)
    try {
      return await work()
    } catch (err) {
      if (postgresError(err)?.code !== LOCK_NOT_AVAILABLE || performance.now() > limit) throw err
      limit = Math.min(limit, performance.now() + LOCKED_MAX_MS)
      await sleep(PAUSE_MS)
    }
  }
}

/** Timeout of the first response. The driver's own timeout ends with the first byte from the peer. */
const RESPOND_WITHIN_MS = 10_000

/**
 * Migrates the database to the current schema. Processes that start together wait for an advisory lock, because
 * concurrent runs of drizzle's `migrate` fail. The lock belongs to the only connection of this function. All migrations
 * run in one transaction, which is retried after a lock timeout.
 * @param settings settings of the session
 * @param report called before a step that may take long
 * @returns the upgrade, or undefined if the schema was current
 * @throws NewerDatabaseError, SilentDatabaseError, EncodingError
 */
export async function migrate (
  url: string,
  settings?: SessionSettings,
  report: (message: string, steps?: Steps) => void = () => {}
): Promise<Upgrade | undefined> {
  const { sql, db, close } = connect(url, 1, settings)
  try {
    await requireResponse(sql)
    await requireUtf8(sql)
    await waitForMigrationLock(sql, report)
    const before = await lastMigration(sql)
    const latest = knownMigrations().at(-1)!.folderMillis
    if (before !== undefined && before > latest) throw new NewerDatabaseError()
    const steps = { from: nameOf(before), to: nameOf(latest) }
    if (before !== undefined && before < latest) report('the database is being upgraded', steps)
    const startedAt = performance.now()
    await retryOnLockTimeout(sql, () => drizzleMigrate(db, { migrationsFolder: MIGRATIONS }))
    if (before === latest) return undefined
    return { ...steps, ms: Math.round(performance.now() - startedAt) }
  } finally {
    await close()
  }
}

/** The migrations of the database before and after an upgrade. */
interface Steps {
  /** The last migration before the upgrade, or null. */
  from: string | null
  to: string
}

/** An upgrade of the database by a starting server. */
export interface Upgrade extends Steps { ms: number }

/** The database has migrations unknown to this program, because a newer version uses it, or has used it. */
export class NewerDatabaseError extends Error {}

/** The server at the URL does not respond. It may not be PostgreSQL. */
export class SilentDatabaseError extends Error {}

/** The database does not use UTF-8. So it cannot store every name, nor fold names for the search. */
export class EncodingError extends Error {}

/** All migrations of this program, oldest first. */
export function knownMigrations (): MigrationMeta[] {
  return readMigrationFiles({ migrationsFolder: MIGRATIONS })
}

/* Tables and columns in the SQL of a migration, as drizzle-kit writes it. */
const CREATED_TABLE = /^CREATE TABLE "(\w+)" \(\n(.*)\n\)/ms
const CREATED_COLUMN = /^\t"(\w+)" /gm
const ADDED_COLUMN = /^ALTER TABLE "?(\w+)"? ADD COLUMN "?(\w+)/gm

/**
 * The columns by table that the migrations up to this one have created. Includes columns that were dropped later, so
 * the caller has to check which ones exist. Undefined for a migration of a newer version.
 */
export function columnsCreated (migration: number): Map<string, Set<string>> | undefined {
  const known = knownMigrations()
  if (!known.some(({ folderMillis }) => folderMillis === migration)) return undefined
  const made = new Map<string, Set<string>>()
  for (const statement of known.filter(({ folderMillis }) => folderMillis <= migration).flatMap(({ sql }) => sql)) {
    const [, table = '', columns = ''] = CREATED_TABLE.exec(statement) ?? []
    if (table) made.set(table, new Set(Array.from(columns.matchAll(CREATED_COLUMN), ([, column]) => column!)))
    for (const [, table, column] of statement.matchAll(ADDED_COLUMN)) made.get(table!)?.add(column!)
  }
  return made
}

/**
 * Runs migrations in the caller's transaction and records them like drizzle's `migrate`. This recreates an older
 * schema, for example for a restore.
 */
export async function applyMigrations (tx: postgres.ISql, migrations: readonly MigrationMeta[]): Promise<void> {
  await tx.unsafe(`create schema if not exists drizzle;
    create table if not exists drizzle.__drizzle_migrations (
      id serial primary key, hash text not null, created_at bigint)`)
  for (const { sql, hash, folderMillis } of migrations) {
    for (const statement of sql) await tx.unsafe(statement)
    await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
  }
}

async function requireResponse (sql: postgres.Sql): Promise<void> {
  let hasAnswered = false
  await waitAtMost(RESPOND_WITHIN_MS, sql`select 1`.then(() => { hasAnswered = true }))
  if (!hasAnswered) throw new SilentDatabaseError()
}

async function requireUtf8 (sql: postgres.Sql): Promise<void> {
  const [row] = await sql<[{ encoding: string }]>`select current_setting('server_encoding') as encoding`
  if (row.encoding !== 'UTF8') throw new EncodingError(row.encoding)
}

/** Takes the migration lock. The wait has no timeout, because an upgrade by another process may take long. */
async function waitForMigrationLock (sql: postgres.Sql, report: (message: string) => void): Promise<void> {
  const [row] = await sql<[{ free: boolean }]>`select pg_try_advisory_lock(${LOCKS.migrations}) as free`
  if (row.free) return
  report('another process starts on this database and may be upgrading it: waiting for it')
  await sql`set statement_timeout = 0`
  await sql`select pg_advisory_lock(${LOCKS.migrations})`
}

/** The file name of a migration, or its timestamp if this program does not know it. */
function nameOf (instant: number): string
function nameOf (instant: number | undefined): string | null
function nameOf (instant: number | undefined): string | null {
  if (instant === undefined) return null
  return readJournal().find(({ when }) => when === instant)?.tag ?? String(instant)
}
