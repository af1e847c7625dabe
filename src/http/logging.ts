import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isatty } from 'node:tty'
import { LogController, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import pino from 'pino'
import { addressMatcher } from '#src/lib/addresses.ts'
import { causesOf, postgresError } from '#src/database/problems.ts'
import { terminalLine } from './terminal-log.ts'

/* The format of log lines. Options of the Fastify instance, not a plugin. */

/**
 * Buffering interval. Writing each line at once took a sixth of the time of a small GET. A killed process loses the
 * lines of the last interval.
 */
const FLUSH_MS = 200
const BUFFER_BYTES = 8192
/** Maximum buffer while no reader takes the output. Above it, new lines are dropped. */
const UNREAD_BYTES = 8 * 1024 * 1024

const STDOUT = 1

const REQUEST_ID = /^[\w.:=+/-]{1,100}$/

type RawRequest = Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } }

/** Receives log lines instead of stdout. */
export interface LogStream { write (line: string): void }

/**
 * Logger settings. The line of a request contains no query string, no body, and of the headers only the request id and
 * the client IP of a trusted proxy. It identifies the request by its route pattern.
 */
export function loggerOptions (level: string, stream?: LogStream): FastifyServerOptions['logger'] {
  return {
    level,
    stream: stream ?? logDestination(),
    serializers: { err: serializeError, req: ({ method }: FastifyRequest) => ({ method }) },
    // Redacts requests or credentials that are logged by mistake. It has no wildcard paths, because they would search
    // every line.
    redact: [
      'headers.authorization',
      'headers.cookie',
      'headers["x-api-key"]',
      'authorization',
      'cookie',
      'password',
      'token',
      'api_key',
      'wskey'
    ]
  }
}

/**
 * Logs to standard output, in JSON unless it is a terminal. If the reader has ended, the terminal is closed, or the
 * disk is full, lines are lost, but the server keeps running.
 */
function logDestination (): LogStream {
  const destination = pino.destination({
    sync: false, minLength: BUFFER_BYTES, maxLength: UNREAD_BYTES, periodicFlush: FLUSH_MS
  })
  const flushSync = destination.flushSync.bind(destination)
  destination.flushSync = () => {
    try {
      flushSync()
    } catch {
      // The process is exiting, so the error cannot be reported.
    }
  }
  destination.on('error', () => {})
  if (!isatty(STDOUT)) return destination
  const { write } = destination
  return Object.assign(destination, { write: (line: string) => write.call(destination, terminalLine(line)) })
}

/** Logs one line per request, after the response, with the route pattern instead of the URL. */
class RequestLog extends LogController {
  override incomingRequest () {}
  override routeNotFound () {}

  override requestCompleted (_err: Error | null | undefined, request: FastifyRequest, reply: FastifyReply) {
    logRequest(request, reply, reply.statusCode)
  }
}

/** Writes the log line of a request. */
export function logRequest (request: FastifyRequest, reply: FastifyReply, status: number): void {
  reply.log[levelOf(status)]({
    method: request.method,
    route: request.routeOptions.url ?? 'unknown',
    status,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ip: request.ip,
    ...(status >= 400 ? { caller: request.principal?.id, code: request.errorCode } : {})
  }, 'request')
}

/** 503 and 507 are warnings, because they are temporary. Other 5xx are defects of this program. */
function levelOf (status: number): 'info' | 'warn' | 'error' {
  if (status < 500) return 'info'
  return status === 503 || status === 507 ? 'warn' : 'error'
}

/**
 * The request id: the `X-Request-Id` of a trusted proxy when its syntax is valid, else a new UUID.
 * @param proxies CIDRs
 */
export function requestIds (proxies: readonly string[]): (request: RawRequest) => string {
  const isTrusted = addressMatcher(proxies)
  return ({ headers: { 'x-request-id': given }, socket: { remoteAddress: peer } }) => {
    const isGiven = typeof given === 'string' && REQUEST_ID.test(given)
    return isGiven && isTrusted(peer) ? given : randomUUID()
  }
}

export const requestLog = new RequestLog()

interface LoggedError { type: string, message: string, stack: string, [detail: string]: unknown }

/** Maximum characters. An error message may contain all the input of a client. */
const MESSAGE_LIMIT = 1000
const STACK_LIMIT = 4000

/**
 * Serializes every logged error. Database errors, and errors caused by them, contain values in message, detail and
 * parameters. Only their code, constraint, table and routine are kept.
 */
export function serializeError (err: unknown): LoggedError {
  if (!(err instanceof Error)) return { type: typeof err, message: '', stack: '' }
  const database = postgresError(err)
  if (database) {
    const { code, constraint_name: constraint, table_name: table, routine } = database
    return { type: 'PostgresError', message: `SQLSTATE ${code}`, constraint, table, routine, stack: frames(err) }
  }
  const query = causesOf(err).find((each) => each instanceof DrizzleQueryError)
  if (query) {
    const code = query.cause !== undefined && 'code' in query.cause ? String(query.cause.code) : 'unknown'
    return { type: 'DrizzleQueryError', message: `query failed: ${code}`.slice(0, MESSAGE_LIMIT), stack: frames(err) }
  }
  const { type, message, stack } = pino.stdSerializers.err(err)
  return {
    type,
    message: message.slice(0, MESSAGE_LIMIT),
    stack: stack.slice(0, STACK_LIMIT),
    ...('code' in err ? { code: String(err.code).slice(0, MESSAGE_LIMIT) } : {})
  }
}

/** The stack without the message, because the log line already contains it. */
function frames ({ message, stack = '' }: Error): string {
  const at = stack.indexOf(message)
  return at === -1 ? '' : stack.slice(at + message.length).trimStart().slice(0, STACK_LIMIT)
}
