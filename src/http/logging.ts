import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LogController, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import pino from 'pino'
import { addressMatcher } from '#src/lib/addresses.ts'
import { causesOf, postgresError } from '#src/database/problems.ts'

/* Options of the Fastify instance, not a plugin: how log lines are written. */

/**
 * A write of its own for every line took a sixth of the time of a small GET. What is at most this old is lost when the
 * process is killed.
 */
const FLUSH_MS = 200
const BUFFER_BYTES = 8192
/** Lines that nobody takes: beyond it the newest are lost. */
const UNREAD_BYTES = 8 * 1024 * 1024

const REQUEST_ID = /^[\w.:=+/-]{1,100}$/

type RawRequest = Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } }

/** Where log lines go instead of stdout. */
export interface LogStream { write (line: string): void }

/**
 * Logger settings. Nothing that a guest or a client sent is written: no query string, no body, no header values;
 * requests are named by their route's pattern.
 */
export function loggerOptions (level: string, stream?: LogStream): FastifyServerOptions['logger'] {
  return {
    level,
    stream: stream ?? logDestination(),
    serializers: { err: serializeError, req: ({ method }: FastifyRequest) => ({ method }) },
    // In case a request or a credential is logged all the same. Named paths: wildcards are searched for in every line.
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
 * Standard output. Its reader may be gone, its terminal closed, or its disk full: lines are lost then, and the server
 * goes on, or ends in order.
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
      // At the end of the process: there is nobody to tell.
    }
  }
  return destination.on('error', () => {})
}

/** One line a request, after the answer; the pattern of the route stands for the address. */
class RequestLog extends LogController {
  override incomingRequest () {}
  override routeNotFound () {}

  override requestCompleted (_err: Error | null | undefined, request: FastifyRequest, reply: FastifyReply) {
    logRequest(request, reply, reply.statusCode)
  }
}

/** The line of a request. */
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

/** A fault of ours is an error; to be refused for want of something passes. */
function levelOf (status: number): 'info' | 'warn' | 'error' {
  if (status < 500) return 'info'
  return status === 503 ? 'warn' : 'error'
}

/**
 * The id of a request: the `X-Request-Id` that a trusted proxy has given it, when it is a plain word, else a new one.
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

/** Characters: an error may hold all that a client sent. */
const MESSAGE_LIMIT = 1000
const STACK_LIMIT = 4000

/**
 * An error for the log, and the only way into it. Database errors carry bound values in message, detail and
 * parameters, and so does whatever has one as its cause: only their codes are kept.
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

/** The stack behind the message, which it repeats. */
function frames ({ message, stack = '' }: Error): string {
  const at = stack.indexOf(message)
  return at === -1 ? '' : stack.slice(at + message.length).trimStart().slice(0, STACK_LIMIT)
}
