import type postgres from 'postgres'
import type { Keys } from '#src/lib/secrets.ts'
import { LOCKS } from '#src/database/locks.ts'
import { connectionCode, postgresError } from '#src/database/problems.ts'
import { findFaults } from './check.ts'
import { RIGHTS } from './rights.ts'
import { scramVerifier } from './scram.ts'

/** Over all processes that share the database. */
const CONNECTIONS = 8
/** A connection lives for one statement: an older one was left behind by a process that is gone. */
const LEFT_BEHIND = '1 minute'
/** Of faults, the number that is told. */
const FAULTS_SHOWN = 5

export interface SqlLogin { user: string, pass: string }

/** Why the console is off, in Italian, without secrets; or how to log in. */
export type RoleState = { off: string } | { login: SqlLogin }

/** The role's name: roles belong to the whole cluster, and each database has its own. */
export async function roleName (sql: postgres.Sql): Promise<string> {
  const [row] = await sql<{ name: string }[]>`
    select 'locanda_sql_' || oid as name from pg_database where datname = current_database()`
  return row!.name
}

/**
 * Makes the role and its rights where they are missing or other than `RIGHTS` says, and then checks what it really can
 * do. Where that is too much, nothing stays made.
 * @param anew makes them in any case, the password too
 */
export async function prepareRole (sql: postgres.Sql, keys: Keys, anew: boolean): Promise<RoleState> {
  const user = await roleName(sql)
  const pass = keys.derive('sql-role').toString('base64url')
  if (!anew && (await findFaults(sql, user)).length === 0) return { login: { user, pass } }
  try {
    const faults = await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LOCKS.sqlRole})`
      await make(tx, user, pass)
      const found = await findFaults(tx, user)
      // An error, so that nothing stays made.
      if (found.length > 0) throw new TooMuch(found)
      return found
    }).catch((err: unknown) => {
      if (err instanceof TooMuch) return err.faults
      throw err
    })
    if (faults.length === 0) return { login: { user, pass } }
    const more = faults.length - FAULTS_SHOWN
    return {
      off: 'i diritti del suo ruolo nel database non sono quelli previsti ' +
        `(${faults.slice(0, FAULTS_SHOWN).join('; ')}${more > 0 ? `; e altri ${more}` : ''})`
    }
  } catch (err) {
    return { off: `il suo ruolo nel database non può essere creato (${codeOf(err)})` }
  }
}

/** The code of a failure, which may be shown: never its words. */
export function codeOf (err: unknown): string {
  return postgresError(err)?.code ?? connectionCode(err) ?? 'errore interno'
}

/**
 * Takes the role away, or, where that is not possible, the right to log in. Without a role it does nothing.
 * @returns false when neither was possible
 */
export async function removeRole (sql: postgres.Sql): Promise<boolean> {
  const user = await roleName(sql)
  const [found] = await sql`select from pg_roles where rolname = ${user}`
  if (!found) return true
  const attempts = [`drop owned by ${user}; drop role ${user}`, `alter role ${user} nologin`]
  for (const statements of attempts) {
    try {
      await sql.begin(async (tx) => {
        await tx`select pg_advisory_xact_lock(${LOCKS.sqlRole})`
        await tx.unsafe(statements)
      })
      return true
    } catch {
      // The next attempt asks for less.
    }
  }
  return false
}

class TooMuch extends Error {
  readonly faults: string[]
  constructor (faults: string[]) {
    super('the SQL role can do too much')
    this.faults = faults
  }
}

async function make (tx: postgres.ISql, user: string, pass: string): Promise<void> {
  const [at] = await tx<{ exists: boolean, isSuper: boolean, database: string, schema: string }[]>`
    select exists (select from pg_roles where rolname = ${user}) as exists,
      (select rolsuper from pg_roles where rolname = current_user) as "isSuper",
      quote_ident(current_database()) as database, quote_ident(current_schema()) as schema`
  const { exists, isSuper, database, schema } = at!
  // The attributes that are not named here are off, and only a superuser may name them.
  const attributes = `login noinherit connection limit ${CONNECTIONS} password '${scramVerifier(pass)}'`
  await tx.unsafe(exists ? `alter role ${user} ${attributes}` : `create role ${user} ${attributes}`)
  // Whoever owns the database must be able to end the role's statements and to take back its rights.
  if (!isSuper) await tx.unsafe(`grant ${user} to current_user`)
  await tx`select pg_terminate_backend(pid) from pg_stat_activity
    where usename = ${user} and backend_start < now() - ${LEFT_BEHIND}::interval`
  await tx.unsafe(`
    alter role ${user} reset all;
    alter role ${user} in database ${database} reset all;
    drop owned by ${user};
    revoke temporary on database ${database} from public;
    revoke create on schema ${schema} from public;
    grant connect on database ${database} to ${user};
    grant usage on schema ${schema} to ${user};
    ${RIGHTS.map((right) => grants(right, `${schema}.${right.table}`, user)).join('')}`)
}

function grants ({ insert, update, delete: mayDelete }: typeof RIGHTS[number], table: string, user: string): string {
  const privileges = [
    'select',
    ...(insert ? [`insert (${insert.join(', ')})`] : []),
    ...(update ? [`update (${update.join(', ')})`] : []),
    ...(mayDelete ? ['delete'] : [])
  ]
  return `grant ${privileges.join(', ')} on ${table} to ${user};\n`
}
