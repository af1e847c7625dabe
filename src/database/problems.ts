import postgres from 'postgres'
import { errorCode, isTlsCode } from '#src/lib/error-code.ts'
import { SpazioEsaurito } from '#src/lib/errors.ts'

interface DatabaseProblem { status: number, codice: string, error: string }

const UNAVAILABLE: DatabaseProblem = {
  status: 503,
  codice: 'DATABASE_NON_DISPONIBILE',
  error: 'Archivio momentaneamente non disponibile: riprovare fra poco'
}
const { code, message, statusCode } = new SpazioEsaurito()
export const NO_SPACE: DatabaseProblem = { status: statusCode ?? 503, codice: code, error: message }
const OUT_OF_RANGE: DatabaseProblem = {
  status: 400,
  codice: 'RICHIESTA_NON_VALIDA',
  error: 'Richiesta non valida: un valore è fuori dai limiti'
}

/** SQLSTATEs that are not defects of this program (PostgreSQL manual, appendix A). */
const BY_SQLSTATE: Readonly<Record<string, DatabaseProblem>> = {
  // A read-only server: a former primary during a failover.
  25006: UNAVAILABLE,
  22003: OUT_OF_RANGE,
  22007: OUT_OF_RANGE,
  22008: OUT_OF_RANGE,
  22021: OUT_OF_RANGE,
  // Text that JSON can encode and PostgreSQL cannot store: NUL, lone surrogates.
  '22P02': OUT_OF_RANGE,
  '22P05': OUT_OF_RANGE,
  40001: UNAVAILABLE,
  '40P01': UNAVAILABLE,
  57014: UNAVAILABLE,
  '57P01': UNAVAILABLE,
  '57P02': UNAVAILABLE,
  '57P03': UNAVAILABLE,
  53100: NO_SPACE,
  53200: UNAVAILABLE,
  53300: UNAVAILABLE,
  58030: UNAVAILABLE
}

/** System error codes of a full disk or an exhausted quota. */
const DISK_FULL = new Set(['ENOSPC', 'EDQUOT'])

/** Connection errors of the driver and the socket. */
const CONNECTION = new Set([
  'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'
])

/** Errors at the start that an operator can fix. */
const REFUSALS: Readonly<Record<string, string>> = {
  28000: 'il database rifiuta l’accesso a questo utente',
  '28P01': 'il database non accetta utente e password',
  '3D000': 'il database indicato non esiste: crearlo',
  42501: 'l’utente del database non può creare tabelle: dargli CREATE sul database e sullo schema public',
  25006: 'il database è di sola lettura',
  53200: 'al database manca la memoria',
  53300: 'il database ha già tutte le connessioni che ammette',
  55000: 'il database non accetta connessioni',
  '55P03': 'una tabella da aggiornare è occupata (un salvataggio, una lunga transazione, VACUUM): riprovare più tardi',
  '57P03': 'il database si sta avviando o fermando'
}

/** An error and its causes, outermost first. */
export function causesOf (err: unknown): Error[] {
  const found = new Set<Error>()
  for (let inner = err; inner instanceof Error && !found.has(inner); inner = inner.cause) found.add(inner)
  return [...found]
}

/** The driver's error inside Drizzle's wrapper. Never show the wrapper, whose message and `params` contain values. */
export function postgresError (err: unknown): postgres.PostgresError | undefined {
  return causesOf(err).find((each) => each instanceof postgres.PostgresError)
}

/** Whether the disk of the database or of `DATA_DIR` is full. */
export function isDiskFull (err: unknown): boolean {
  return causesOf(err).some((each) => 'code' in each && (each.code === '53100' || DISK_FULL.has(String(each.code))))
}

/** Whether the database is down or too busy to carry out the work. */
export function isUnavailable (err: unknown): boolean {
  return databaseProblem(err) === UNAVAILABLE
}

/** The response for a database error. Undefined for a defect of this program. */
export function databaseProblem (err: unknown): DatabaseProblem | undefined {
  if (isDiskFull(err)) return NO_SPACE
  const sqlstate = postgresError(err)?.code
  if (sqlstate !== undefined) return BY_SQLSTATE[sqlstate]
  return connectionCode(err) === undefined ? undefined : UNAVAILABLE
}

/**
 * SQLSTATEs that may succeed on retry: lost connections (08), resources (53), operator intervention (57), system errors
 * (58), a read-only server after a failover (25006), an idle transaction timeout (25P03), lock timeouts (55P03),
 * serialization failures (40001), deadlocks (40P01), internal errors (XX000).
 */
const TRANSIENT = /^(?:08|53|57|58)|^(?:25006|25P03|40001|40P01|55P03|XX000)$/

/** True if a retry may succeed. False for an error that a retry would repeat, such as a violated constraint. */
export function isTransient (err: unknown): boolean {
  const sqlstate = postgresError(err)?.code
  return sqlstate === undefined ? connectionCode(err) !== undefined : TRANSIENT.test(sqlstate)
}

/** The Italian reason why the server cannot start with its database. Undefined for a defect of this program. */
export function startProblem (err: unknown): string | undefined {
  const sqlstate = postgresError(err)?.code
  if (isDiskFull(err)) return 'il disco della base dati è pieno'
  const reason = sqlstate === undefined ? undefined : REFUSALS[sqlstate]
  if (reason !== undefined) return `${reason} (${sqlstate})`
  const [code, tlsCode] = [connectionCode(err), errorCode(err)]
  if (isTlsCode(tlsCode) && isDriverError(err)) return `la connessione TLS al database non è riuscita (${tlsCode})`
  return code === undefined ? undefined : `il database non è raggiungibile (${code})`
}

/** The code of a connection error. Undefined for other errors. */
export function connectionCode (err: unknown): string | undefined {
  const inner = err instanceof Error && err.cause instanceof Error ? err.cause : err
  return inner instanceof Error && 'code' in inner && CONNECTION.has(String(inner.code)) && isDriverError(err)
    ? String(inner.code)
    : undefined
}

function isDriverError (err: unknown): boolean {
  return (
    err instanceof Error &&
    (err.message.startsWith('Failed query') || 'query' in err || 'errno' in err || 'address' in err)
  )
}
