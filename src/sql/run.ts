import type postgres from 'postgres'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { postgresError } from '#src/database/problems.ts'
import { SqlNonValido, SqlRispostaTroppoGrande } from './errors.ts'
import type { SqlLogin } from './role.ts'
import { distinctNames, RowWriter, type Column } from './rows.ts'
import { openSession, type Session } from './session.ts'
import { textOf } from './texts.ts'

const TIMEOUT_MS = 10_000
/** A statement can catch its own cancellation; then its connection is ended. */
const DEADLINE_MS = TIMEOUT_MS + 1000
const MAX_ROWS = 10_000
/** Of the answer's rows, and of what comes from the database. */
const MAX_BYTES = 10 * 1024 * 1024
/** Characters of PostgreSQL's message that are shown: a statement can raise a longer one. */
const MESSAGE_MAX = 1000

/** Why a statement was ended from here. */
type Stop = 'time' | 'size' | 'copy' | 'caller gone'

/** As the driver takes it: without it a statement without parameters goes by the simple protocol, with any number. */
const ONE_STATEMENT = { simple: false, prepare: false }

/** No such role, a wrong password, no rule of pg_hba.conf, no right to connect. */
const NO_LOGIN = /^(28...|42501)$/

/** The role cannot log in; `code` may be shown. */
export class LoginRefused extends Error {
  readonly code: string
  constructor (code: string) {
    super('the SQL role cannot log in')
    this.code = code
  }
}

/**
 * Runs one statement on a connection of its own, in a transaction that is committed only when the whole answer is
 * within its limits: otherwise nothing was done.
 * @returns the body of the answer
 * @throws LoginRefused, SqlNonValido, SqlRispostaTroppoGrande; ServizioOccupato when the database is the matter
 */
export async function runStatement (
  pool: postgres.Sql,
  login: SqlLogin,
  statement: string,
  callerGone: AbortSignal
): Promise<string> {
  let stopped: Stop | undefined
  let pid: number | undefined
  let ending: Promise<unknown> | undefined
  const stop = (why: Stop) => {
    stopped ??= why
    session.cut()
    if (pid !== undefined) ending ??= endBackend(pool, pid, login.user)
  }
  const session: Session = await openSession(pool, login, {
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    onTooMuch: () => stop('size')
  })
  const deadline = setTimeout(() => stop('time'), DEADLINE_MS)
  const onGone = () => stop('caller gone')
  callerGone.addEventListener('abort', onGone)
  if (callerGone.aborted) onGone()
  try {
    pid = await begin(session.sql)
    const writer = new RowWriter()
    const result = await readRows(session.sql, statement, writer, stop)
    if (writer.isGarbled) throw refusal('0A000', 'client_encoding cannot be changed')
    const fields = await describe(session, login.user, result.columns)
    await session.sql.unsafe('commit')
    // Not every statement counts: EXPLAIN and SHOW have rows and no number of them.
    return writer.answer(result.count ?? writer.count, fields)
  } catch (err) {
    // What the connection says of its end depends on the moment: why it was ended is known here.
    throw stopped === undefined ? meaningOf(err) : STOPPED[stopped]()
  } finally {
    clearTimeout(deadline)
    callerGone.removeEventListener('abort', onGone)
    await session.end()
    await ending
  }
}

const STOPPED: Readonly<Record<Stop, () => Error>> = {
  time: () => refusal('57014', 'canceling statement due to statement timeout'),
  size: () => new SqlRispostaTroppoGrande(),
  copy: () => refusal('0A000', 'COPY from or to the client is not supported'),
  'caller gone': () => new ServizioOccupato()
}

async function begin (sql: postgres.Sql): Promise<number> {
  try {
    return (await sql.unsafe('begin')).state.pid
  } catch (err) {
    const sqlstate = postgresError(err)?.code
    throw sqlstate !== undefined && NO_LOGIN.test(sqlstate) ? new LoginRefused(sqlstate) : err
  }
}

interface Result { count: number | null, columns: Column[] }

/** By the extended protocol, which takes one statement alone. */
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
  // A stream of COPY.
  stop('copy')
  throw new Error('COPY')
}

/**
 * The names and types of the columns. What the role would own from now on is refused: temporary tables and schemas are
 * out of its reach, but everybody may make large objects.
 */
async function describe ({ sql, isUtf8 }: Session, role: string, columns: readonly Column[]) {
  const oids = [...new Set(columns.map(({ type }) => type))]
  const rows = await sql.unsafe<{ oid: string, type: string, owns: boolean }[]>(`
    select t.oid::pg_catalog.text as oid, pg_catalog.format_type(t.oid, null) as type, exists (
      select from pg_catalog.pg_shdepend d join pg_catalog.pg_roles r on r.oid = d.refobjid
      where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.deptype = 'o' and r.rolname = '${role}'
    ) as owns from pg_catalog.pg_type t where t.oid in (${[...oids, 16].join()})`)
  if (rows.some(({ owns }) => owns)) throw refusal('42501', 'the statement would leave an object of its own behind')
  if (!isUtf8()) throw refusal('0A000', 'client_encoding cannot be changed')
  const types = new Map(rows.map(({ oid, type }) => [Number(oid), type]))
  const names = distinctNames(columns.map(({ name }) => name))
  return columns.map(({ type }, i) => ({ name: names[i]!, type: types.get(type) ?? '???' }))
}

function meaningOf (err: unknown): Error {
  if (err instanceof SqlNonValido || err instanceof LoginRefused) return err
  const cause = postgresError(err)
  const text = cause && textOf(cause.code)
  return cause && text !== undefined ? refusal(cause.code, cause.message, cause.position) : new ServizioOccupato()
}

function refusal (sqlstate: string, message: string, position?: string): SqlNonValido {
  const shown = message.slice(0, MESSAGE_MAX).toWellFormed()
  return new SqlNonValido(textOf(sqlstate) ?? '', sqlstate, position === undefined ? null : Number(position), shown)
}

/** Nothing that a statement does keeps it alive. Only the role's own backend: its number may be another's by now. */
async function endBackend (pool: postgres.Sql, pid: number, user: string): Promise<void> {
  await pool`select pg_terminate_backend(pid) from pg_stat_activity where pid = ${pid} and usename = ${user}`
    // The database is gone, and the statement with it.
    .catch(() => {})
}
