import postgres from 'postgres'
import { CountedSocket } from './counted-socket.ts'
import type { SqlLogin } from './role.ts'

/** Seconds for the connection to stand. */
const CONNECT_S = 5

/** One connection of the SQL role, for one statement. */
export interface Session {
  sql: postgres.Sql
  /** Whether texts still come as UTF-8: a statement can change that. */
  isUtf8 (): boolean
  /** Drops the connection without a word. */
  cut (): void
  /** Takes leave of the server. */
  end (): Promise<void>
}

export interface SessionLimits { maxBytes: number, timeoutMs: number, onTooMuch (): void }

/** Opens a connection of its own to the database of `pool`, as another user. */
export async function openSession (pool: postgres.Sql, login: SqlLogin, limits: SessionLimits): Promise<Session> {
  const { host, port, path, database, ssl } = pool.options
  const [schema] = await pool<{ name: string }[]>`select quote_ident(current_schema()) as name`
  let socket: CountedSocket | undefined
  let isCut = false
  let encoding = 'UTF8'
  const options = {
    // For its messages: the socket is made below.
    host: host[0]!,
    database,
    ssl,
    ...login,
    max: 1,
    prepare: false,
    fetch_types: false,
    connect_timeout: CONNECT_S,
    onnotice: () => {},
    onparameter: (name: string, value: unknown) => { if (name === 'client_encoding') encoding = String(value) },
    // What the forms of values depend on is given here: whoever starts a server may have set it otherwise.
    connection: {
      application_name: 'locanda-sql',
      statement_timeout: limits.timeoutMs,
      search_path: schema!.name,
      TimeZone: 'UTC',
      DateStyle: 'ISO, YMD',
      IntervalStyle: 'postgres',
      bytea_output: 'hex',
      extra_float_digits: '1',
      standard_conforming_strings: 'on'
    },
    socket () {
      // The driver connects again when a connection breaks before its first statement.
      if (isCut) throw new Error('the session has ended')
      socket = new CountedSocket({ host, port, path }, limits.maxBytes, limits.onTooMuch)
      return socket
    }
  }
  const sql = postgres(options)
  return {
    sql,
    isUtf8: () => encoding === 'UTF8',
    cut () {
      isCut = true
      socket?.destroy()
    },
    async end () {
      await sql.end({ timeout: 0 })
      isCut = true
      socket?.closeSoon()
    }
  }
}
