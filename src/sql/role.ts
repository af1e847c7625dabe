import { createHmac, hash, pbkdf2Sync, randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import { LOCKS } from '#src/database/locks.ts'

/** Maximum connections of the role, across all processes that share the database. */
const CONNECTIONS = 8
/** Number of iterations that PostgreSQL uses for passwords (`SCRAM_SHA_256_DEFAULT_ITERATIONS`). */
const ITERATIONS = 4096

/** A login of the SQL console. */
export interface SqlLogin { user: string, pass: string }

/**
 * Creates or resets the role of the console: its password, its settings and its rights. It may connect, and has the
 * rights that the migrations' function `console_sql_diritti` grants. Revokes rights of `PUBLIC` that it must not have.
 * @throws the error of PostgreSQL when the server's user may not create roles
 */
export async function prepareRole (sql: postgres.Sql, pass: string): Promise<SqlLogin> {
  return await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCKS.sqlRole})`
    // Roles belong to the whole cluster, so the name contains the database's object id.
    const [found] = await tx<{ user: string, exists: boolean, isSuper: boolean, database: string, schema: string }[]>`
      with console as (select 'locanda_sql_' || oid as name from pg_database where datname = current_database())
      select name as user, exists (select from pg_roles where rolname = name) as exists,
        (select rolsuper from pg_roles where rolname = current_user) as "isSuper",
        quote_ident(current_database()) as database, quote_ident(current_schema()) as schema
      from console`
    const { user, exists, isSuper, database, schema } = found!
    // Other attributes are off by default, and only a superuser may list them.
    await tx.unsafe(`${exists ? 'alter' : 'create'} role ${user}
      login noinherit connection limit ${CONNECTIONS} password '${scramVerifier(pass)}'`)
    // The server's user needs this to terminate the role's statements and to revoke its rights.
    if (!isSuper) await tx.unsafe(`grant ${user} to current_user`)
    await tx.unsafe(`
      alter role ${user} reset all;
      alter role ${user} in database ${database} reset all;
      drop owned by ${user};
      revoke temporary on database ${database} from public;
      revoke create on schema ${schema} from public;
      grant connect on database ${database} to ${user};
      grant usage on schema ${schema} to ${user};
      select console_sql_diritti('${user}')`)
    return { user, pass }
  })
}

/**
 * A password verifier in PostgreSQL's format (RFC 5803), so that statement logs do not contain the password. The
 * password must be ASCII, because it is not normalized.
 */
function scramVerifier (password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = hash('sha256', keyed('Client Key'), 'base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`
}
