import type postgres from 'postgres'
import type { SqlField } from '#schemas/sql.ts'
import { openClient } from '#src/database/client.ts'
import { createSockets } from '#src/database/sockets.ts'
import { postgresError } from '#src/database/problems.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { explain, SqlNonValido, SqlRispostaTroppoGrande } from './errors.ts'
import type { SqlLogin } from './role.ts'
import { distinctNames, RowWriter, type Column } from './rows.ts'

const TIMEOUT_MS = 10_000
/** A statement can catch its own cancellation. After this time its connection is ended. */
const DEADLINE_MS = TIMEOUT_MS + 1000
const SESSION = { application_name: 'locanda-sql', statement_timeout: String(TIMEOUT_MS) }
const MAX_ROWS = 10_000
/** Maximum bytes of the response's rows, and of all bytes from the database, because one value can have a gigabyte. */
const MAX_BYTES = 10 * 1024 * 1024
const COUNT_BYTES_EVERY_MS = 20
/** Maximum characters of PostgreSQL's message in a response, because a statement can raise a longer one. */
const MESSAGE_MAX = 1000

/** The reason why the server stopped a statement. */
type Stop = 'time' | 'size' | 'copy'

/** Forces the extended protocol, because the simple protocol allows several statements. */
const ONE_STATEMENT = { simple: false, prepare: false }

/** SQLSTATEs of a failed login: no such role, a wrong password, no rule in pg_hba.conf, no right to connect. */
const NO_LOGIN = /^(28...|42501)$/

/** The role must be reset, because it cannot log in, or a statement has changed its persistent settings. */
export class LoginRefused extends Error {}

/**
 * Runs one statement on a separate connection. Commits only if the whole response is within the limits.
 * @param pool the server's own connections, which can terminate a statement that does not end
 * @returns the body of the response
 * @throws LoginRefused, SqlNonValido, SqlRispostaTroppoGrande, ServizioOccupato when the statement is not the cause
 */
export async function runStatement (
  pool: postgres.Sql,
  url: string,
  login: SqlLogin,
  statement: string
): Promise<string> {
  const [found] = await pool<{ schema: string, isAltered: boolean }[]>`
    select quote_ident(current_schema()) as schema, exists (select from pg_db_role_setting s
      join pg_roles r on r.oid = s.setrole where r.rolname = ${login.user}) as "isAltered"`
  if (found!.isAltered) throw new LoginRefused()
  const settings = { ...SESSION, search_path: found!.schema }
  const sockets = createSockets()
  const sql = openClient(url, 1, settings, sockets, login)
  let pid: number | undefined
  let stopped: Stop | undefined
  const stop = (why: Stop) => {
    stopped ??= why
    sockets.cut()
  }
  const deadline = setTimeout(() => stop('time'), DEADLINE_MS)
  const counting = setInterval(() => { if (sockets.received() > MAX_BYTES) stop('size') }, COUNT_BYTES_EVERY_MS)
  try {
    pid = (await sql.unsafe('begin')).state.pid
    const writer = new RowWriter()
    const result = await readRows(sql, statement, writer, stop)
    const fields = await describe(sql, result.columns)
    await sql.unsafe('commit')
    // EXPLAIN and SHOW return rows without a count.
    return writer.response(result.count ?? writer.count, fields)
  } catch (err) {
    if (stopped !== undefined) throw STOPPED[stopped]()
    throw pid === undefined && NO_LOGIN.test(postgresError(err)?.code ?? '') ? new LoginRefused() : meaningOf(err)
  } finally {
    clearTimeout(deadline)
    clearInterval(counting)
    await sql.end({ timeout: 0 })
    if (stopped !== undefined && pid !== undefined) await endBackend(pool, pid, login.user)
  }
}

const STOPPED: Readonly<Record<Stop, () => Error>> = {
  time: () => refusal('57014', 'canceling statement due to statement timeout'),
  size: () => new SqlRispostaTroppoGrande(),
  copy: () => refusal('0A000', 'COPY from or to the client is not supported')
}

interface Result { count: number | null, columns: Column[] }

/** Uses the extended protocol, which allows a single statement. */
async function readRows (
  sql: postgres.Sql,
  statement: string,
  writer: RowWriter,
  stop: (why: Stop) => void
): Promise<Result> {
  let isFull = false
  const result: unknown = await sql.unsafe(statement, [], ONE_STATEMENT).raw().forEach((row, { columns }) => {
    if (isFull) return
    writer.add(row, columns)
    isFull = writer.count > MAX_ROWS || writer.bytes > MAX_BYTES
    if (isFull) stop('size')
  })
  if (Array.isArray(result)) {
    const { count, columns } = result as unknown as { count: number | null, columns?: Column[] }
    return { count, columns: columns ?? [] }
  }
  // The statement is a COPY.
  stop('copy')
  throw new Error('COPY')
}

async function describe (sql: postgres.Sql, columns: readonly Column[]): Promise<SqlField[]> {
  // 16 (boolean) keeps the list from being empty.
  const oids = [...new Set([16, ...columns.map(({ type }) => type)])]
  const rows = await sql.unsafe<{ oid: string, type: string }[]>(`
    select oid::pg_catalog.text, pg_catalog.format_type(oid, null) as type
    from pg_catalog.pg_type where oid in (${oids.join()})`)
  const types = new Map(rows.map(({ oid, type }) => [Number(oid), type]))
  const names = distinctNames(columns.map(({ name }) => name))
  return columns.map(({ type }, i) => ({ name: names[i]!, type: types.get(type) ?? '???' }))
}

function meaningOf (err: unknown): Error {
  if (err instanceof SqlNonValido) return err
  const cause = postgresError(err)
  const isStatement = cause !== undefined && explain(cause.code) !== undefined
  return isStatement ? refusal(cause.code, cause.message, cause.position) : new ServizioOccupato()
}

function refusal (sqlstate: string, message: string, position?: string): SqlNonValido {
  const shown = message.slice(0, MESSAGE_MAX).toWellFormed()
  return new SqlNonValido(explain(sqlstate) ?? '', sqlstate, position === undefined ? null : Number(position), shown)
}

/** Terminates only a backend of this role, because another process may have got the same id. */
async function endBackend (pool: postgres.Sql, pid: number, user: string): Promise<void> {
  await pool`select pg_terminate_backend(pid) from pg_stat_activity where pid = ${pid} and usename = ${user}`
    // The connection to the database is lost, so the statement has ended too.
    .catch(() => {})
}
