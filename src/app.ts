import Fastify, { type FastifyInstance } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { ErrorBody } from '#schemas/common.ts'
import { administration } from './administration/index.ts'
import { alloggiati, bookingRemarks, ledgerKey, submissionHooks } from './alloggiati/index.ts'
import { backup } from './backup/index.ts'
import { bookingHooks, bookings, personalDataReports } from './bookings/index.ts'
import type { Config } from './config/config.ts'
import { dashboard } from './dashboard/index.ts'
import disk from './database/disk.ts'
import notifications from './database/notifications.ts'
import database from './database/plugin.ts'
import { desk } from './desk/index.ts'
import { documents } from './documents/index.ts'
import { events, type EventTimes } from './events/index.ts'
import auth, { guards } from './http/auth.ts'
import bodyLimits from './http/body-limits.ts'
import clientDisconnects from './http/client-disconnects.ts'
import compression from './http/compression.ts'
import connections from './http/connections.ts'
import downloads from './http/downloads.ts'
import errors from './http/errors.ts'
import healthRoutes from './http/health-routes.ts'
import idempotency from './http/idempotency/plugin.ts'
import jsonBodies from './http/json-bodies.ts'
import type { LogStream } from './http/logging.ts'
import metrics, { type ProcessFigures } from './http/metrics.ts'
import openapi, { openapiPages } from './http/openapi/plugin.ts'
import publicPages from './http/public-pages.ts'
import publicPath from './http/public-path.ts'
import rateLimits from './http/rate-limits.ts'
import security from './http/security.ts'
import shutdown from './http/shutdown.ts'
import startupHealthCheck from './http/startup-health-check.ts'
import streams from './http/streams.ts'
import strictQuery from './http/strict-query.ts'
import validationErrors from './http/validation-errors.ts'
import { identity, identityRoutes } from './identity/index.ts'
import { instanceOptions } from './instance.ts'
import { letters } from './letters/index.ts'
import { createKeys, type Keys } from './lib/secrets.ts'
import { createClock, type Clock } from './lib/time.ts'
import { pdf } from './pdf/index.ts'
import { reports } from './reports/index.ts'
import { documentReading, guestCodes, scanning } from './scanning/index.ts'
import { scans } from './scans/index.ts'
import audit from './services/audit/plugin.ts'
import type { Backend } from './services/files/backends/backend.ts'
import storedFiles from './services/files/plugin.ts'
import images from './services/images/plugin.ts'
import jobs from './services/jobs/plugin.ts'
import mail from './services/mail/plugin.ts'
import rateCounters from './services/rate-counters.ts'
import workers from './services/workers/plugin.ts'
import { settings, settingsRoutes } from './settings/index.ts'
import { sqlConsole } from './sql/index.ts'
import { storage } from './storage/index.ts'

/** Overrides of the default timeouts, in milliseconds. */
export interface Times extends EventTimes {
  /** Timeout of a whole call to the police service. */
  soapTimeoutMs?: number
  /** Time limit for the response while a caller waits for the police service. */
  policeResponseMs?: number
  /** Timeout of a call to an external identity provider. */
  idpTimeoutMs?: number
  /** Timeout of a call to an external PDF engine. */
  pdfEngineMs?: number
  /** Timeout of a call to an OCR provider. */
  ocrTimeoutMs?: number
  /** Maximum wait until other processes confirm that they have received a notification. */
  listenersMs?: number
  /** Time after which a client that sends almost no bytes of a large body is disconnected. */
  stalledBodyMs?: number
  /** Timeout of a Redis command. */
  redisResponseMs?: number
}

export interface BuildOptions {
  config: Config
  /** Aborts a start that waits for the embedded database. */
  signal?: AbortSignal
  /** Limit of open files and connections of the process. */
  descriptors?: number | undefined
  /** Resource usage of the process, for the metrics. */
  processFigures?: () => ProcessFigures
  /** Replaces the clock of `TODAY`. Jobs then run only at the start, or when they are started by hand. */
  clock?: Clock | undefined
  times?: Times
  /** Receives log lines instead of stdout. */
  logStream?: LogStream
  /** Gets the instance before any plugin is registered. */
  prepare?: (app: FastifyInstance) => void | Promise<void>
  /** Wraps the file backend, for example to inject failures. */
  wrapBackend?: (backend: Backend) => Backend
}

/** Builds the whole service, ready to listen. The server and every test use this factory. */
export async function build (options: BuildOptions): Promise<FastifyInstance> {
  const { config, logStream, prepare, clock = createClock(config.TODAY), times = {} } = options
  const app = Fastify(instanceOptions(config, logStream)).withTypeProvider<TypeBoxTypeProvider>()
  const facts = { ...options, clock, times, keys: createKeys(config.MASTER_KEY), byClock: options.clock === undefined }
  try {
    await prepare?.(app)
    await registerInfrastructure(app, facts)
    await registerAreas(app, facts)
    await app.ready()
    return app
  } catch (err) {
    // Close the resources that the failed start has opened.
    await app.close()
    throw err
  }
}

interface Facts extends BuildOptions {
  clock: Clock
  times: Times
  keys: Keys
  /** Whether jobs run on schedule. */
  byClock: boolean
}

/** Hooks run in the order of registration. So a caller is identified and counted before a guard rejects it. */
async function registerInfrastructure (app: FastifyInstance, facts: Facts): Promise<void> {
  const { config, signal, descriptors, processFigures, times, wrapBackend, keys, byClock } = facts
  // Register first, so that it renders the errors of every later plugin.
  await app.register(errors)

  // Other body formats get a 415, unless a scope adds a parser for them.
  app.addSchema(ErrorBody)
  await app.register(jsonBodies)

  await app.register(connections, { config, descriptors })
  await app.register(clientDisconnects)
  await app.register(shutdown, { config })
  await app.register(startupHealthCheck)
  await app.register(security, { config })
  await app.register(database, { config, signal })
  await app.register(disk, { config })
  // Before any write, checks that the key matches the existing data.
  await app.register(ledgerKey, { config, keys })
  await app.register(notifications, times)
  await app.register(jobs, { byClock })
  await app.register(rateCounters, { keys })
  await app.register(audit, { config })
  await app.register(identity, { config, keys, timeoutMs: times.idpTimeoutMs })
  const { authenticator } = app.identity
  await app.register(auth, { config, authenticator })
  await app.register(rateLimits, { config, ...times })
  await app.register(settings)
  await app.register(guards, { config, authenticator })
  await app.register(bodyLimits, { stalledBodyMs: times.stalledBodyMs })
  await app.register(strictQuery)
  await app.register(openapi, { config })
  await app.register(publicPages)
  await app.register(idempotency, { keys })
  await app.register(publicPath, { config })
  await app.register(validationErrors)
  await app.register(compression)
  await app.register(metrics, { processFigures })
  await app.register(mail, { config, keys })
  await app.register(storedFiles, { config, keys, wrapBackend })
  await app.register(workers)
  await app.register(images, { config })
  await app.register(healthRoutes)
  await app.register(streams, times)
  await app.register(downloads, times)
  await app.register(openapiPages, { config, ...times })
}

/** Each area has its own scope. The hooks of an area are registered before the areas that use them. */
async function registerAreas (app: FastifyInstance, { config, keys, clock, times }: Facts): Promise<void> {
  await app.register(bookingHooks)
  await app.register(personalDataReports)
  await app.register(submissionHooks)
  await app.register(bookingRemarks)
  await app.register(guestCodes)
  await app.register(documentReading, { config, clock, ...times })
  await app.register(pdf, { config, timeoutMs: times.pdfEngineMs })
  await app.register(identityRoutes)
  await app.register(bookings)
  await app.register(scanning, { clock })
  await app.register(alloggiati, { config, keys, clock, ...times })
  await app.register(documents, { config, keys, clock })
  await app.register(letters, { config, keys, clock })
  await app.register(reports, { config, clock })
  await app.register(scans, { config, keys, clock })
  await app.register(storage, { config, keys })
  await app.register(settingsRoutes)
  await app.register(dashboard, { config, keys, clock })
  await app.register(sqlConsole, { config, keys })
  await app.register(events, { config, keys, times })
  await app.register(desk, { clock })
  await app.register(administration, { config, keys })
  await app.register(backup, { config, clock, keys })
}
