import Fastify, { type FastifyHttpOptions, type FastifyInstance, type RawServerDefault } from 'fastify'
import { randomUUID } from 'node:crypto'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { ErrorBody } from '#schemas/common.ts'
import { administration } from './administration/index.ts'
import { alloggiati } from './alloggiati/index.ts'
import { bookingHooks, bookings } from './bookings/index.ts'
import type { Config } from './config/config.ts'
import { identity, identityRoutes } from './identity/index.ts'
import { createKeys } from './lib/secrets.ts'
import audit from './plugins/audit/plugin.ts'
import auth, { guards } from './plugins/auth.ts'
import closing from './plugins/closing.ts'
import database from './plugins/database/plugin.ts'
import errors, { renderClientError, renderFrameworkError } from './plugins/errors.ts'
import idempotency from './plugins/idempotency.ts'
import jobs from './plugins/jobs.ts'
import limits from './plugins/limits.ts'
import { loggerOptions, requestLog } from './plugins/logging.ts'
import mail from './plugins/mail/plugin.ts'
import metrics from './plugins/metrics.ts'
import openapi, { openapiPages } from './plugins/openapi.ts'
import ops from './plugins/ops.ts'
import security from './plugins/security.ts'
import { schemaController } from './plugins/validation.ts'
import { createClock } from './lib/time.ts'

export interface BuildOptions {
  config: Config
  /** For tests: where log lines go. */
  logStream?: { write (line: string): void }
  /** For tests: called on the bare instance, before anything is registered. */
  prepare?: (app: FastifyInstance) => void | Promise<void>
  /** For tests: milliseconds for a whole call to the police, in place of the usual minute. */
  soapTimeoutMs?: number
}

/** The whole service, ready to listen: the plan of the house. The server and every test use this one factory. */
export async function build ({ config, logStream, prepare, soapTimeoutMs }: BuildOptions): Promise<FastifyInstance> {
  const app = Fastify(serverOptions(config, logStream)).withTypeProvider<TypeBoxTypeProvider>()
  const keys = createKeys(config.MASTER_KEY)
  const clock = createClock(config.TODAY)
  try {
    await prepare?.(app)

    await app.register(errors)
    app.addSchema(ErrorBody)
    // JSON is the only format of a body: others are a 415.
    app.removeContentTypeParser('text/plain')
    await app.register(closing)
    await app.register(security, { config })
    await app.register(database, { config })
    await app.register(jobs)
    await app.register(audit, { config, keys })
    await app.register(identity, { config, keys })
    const { authenticator } = app.identity
    await app.register(auth, { config, authenticator })
    await app.register(limits, { config })
    await app.register(guards, { authenticator })
    await app.register(openapi, { config })
    await app.register(idempotency, { keys })
    await app.register(metrics)
    await app.register(mail, { config, keys })

    await app.register(bookingHooks)

    await app.register(openapiPages)
    await app.register(ops)
    await app.register(identityRoutes, { config, keys })
    await app.register(bookings)
    await app.register(alloggiati, { config, keys, clock, soapTimeoutMs })
    await app.register(administration, { config, keys })

    await app.ready()
    return app
  } catch (err) {
    // Whatever was opened is closed again: a failed start leaves nothing behind.
    await app.close()
    throw err
  }
}

function serverOptions (config: Config, logStream: BuildOptions['logStream']): FastifyHttpOptions<RawServerDefault> {
  return {
    logger: loggerOptions(config.LOG_LEVEL, logStream),
    logController: requestLog,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    trustProxy: config.TRUST_PROXY.length > 0 ? [...config.TRUST_PROXY] : false,
    bodyLimit: 1024 * 1024,
    requestTimeout: 60_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 10_000,
    http: { headersTimeout: 15_000 },
    routerOptions: { maxParamLength: 300 },
    schemaController,
    // `closing` refuses in the words of this API.
    return503OnClosing: false,
    frameworkErrors: renderFrameworkError,
    clientErrorHandler: renderClientError
  }
}
