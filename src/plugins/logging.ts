import { LogController, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import pino from 'pino'
import { postgresError } from './database/problems.ts'

/* Options of the Fastify instance, not a plugin: how log lines are written. */

/**
 * A write of its own for every line took a sixth of the time of a small GET. What is at most this old is lost when the
 * process is killed.
 */
const FLUSH_MS = 200
const BUFFER_BYTES = 8192

/** Where log lines go instead of stdout. */
export interface LogStream { write (line: string): void }

/**
 * Logger settings. Nothing that a guest or a client sent is written: no query string, no body, no header values;
 * requests are named by their route's pattern.
 */
export function loggerOptions (level: string, stream?: LogStream): FastifyServerOptions['logger'] {
  return {
    level,
    stream: stream ?? pino.destination({ sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_MS }),
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

/** One line a request, after the answer; the pattern of the route stands for the address. */
class RequestLog extends LogController {
  override incomingRequest () {}
  override routeNotFound () {}

  override requestCompleted (_err: Error | null | undefined, request: FastifyRequest, reply: FastifyReply) {
    reply.log.info({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ip: request.ip
    }, 'request')
  }
}

export const requestLog = new RequestLog()

interface LoggedError { type: string, message: string, stack: string, [detail: string]: unknown }

/**
 * An error for the log. Database errors carry bound values in message, detail and parameters: only their codes are
 * kept.
 */
export function serializeError (err: unknown): LoggedError {
  const database = postgresError(err)
  if (database) {
    const { code, constraint_name: constraint, table_name: table, routine } = database
    return { type: 'PostgresError', message: `SQLSTATE ${code}`, constraint, table, routine, stack: frames(err) }
  }
  if (err instanceof Error && err.name === 'DrizzleQueryError') {
    const code = err.cause instanceof Error && 'code' in err.cause ? String(err.cause.code) : 'unknown'
    return { type: err.name, message: `query failed: ${code}`, stack: frames(err) }
  }
  if (!(err instanceof Error)) return { type: typeof err, message: '', stack: '' }
  const { type, message, stack } = pino.stdSerializers.err(err)
  return { type, message, stack, ...('code' in err ? { code: err.code } : {}) }
}

/** The stack without its first lines, which repeat the message. */
function frames (err: unknown): string {
  return err instanceof Error ? (err.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).join('\n') : ''
}
