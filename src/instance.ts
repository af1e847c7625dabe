import type { FastifyHttpOptions, RawServerDefault } from 'fastify'
import type { Config } from './config/config.ts'
import { addressMatcher } from './lib/addresses.ts'
import { renderAuthError } from './identity/index.ts'
import { renderClientError, renderFrameworkError } from './http/errors.ts'
import { loggerOptions, requestIds, requestLog, type LogStream } from './http/logging.ts'
import { schemaController } from './http/validation.ts'
import { renderStorageError } from './storage/index.ts'

const PROTOCOLS = [['/auth/v1/', renderAuthError], ['/storage/v1/', renderStorageError]] as const

/** The options of the Fastify instance. */
export function instanceOptions (config: Config, logStream?: LogStream): FastifyHttpOptions<RawServerDefault> {
  return {
    logger: loggerOptions(config.LOG_LEVEL, logStream),
    logController: requestLog,
    genReqId: requestIds(config.TRUST_PROXY),
    requestIdHeader: false,
    trustProxy: config.TRUST_PROXY.length > 0 && addressMatcher(config.TRUST_PROXY),
    bodyLimit: 1024 * 1024,
    // No timeout, because an upgrade of a large database takes minutes. After a timeout it would begin again.
    pluginTimeout: 0,
    requestTimeout: 60_000,
    // Longer than any response takes, so that Node does not close the connection before the response.
    connectionTimeout: 120_000,
    keepAliveTimeout: 10_000,
    // Limits how long a silent connection keeps a descriptor. `http/security.ts` rejects requests without a host,
    // because Node's own response has no body.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 2000, requireHostHeader: false },
    routerOptions: { maxParamLength: 300 },
    schemaController,
    // `http/shutdown.ts` responds in the error format of the API.
    return503OnClosing: false,
    // Clients of the identity and storage protocols expect their own error formats.
    frameworkErrors: (err, request, reply) => {
      const [, render] = PROTOCOLS.find(([prefix]) => request.url.startsWith(prefix)) ?? []
      renderFrameworkError(err, request, reply, render)
    },
    clientErrorHandler: renderClientError
  }
}
