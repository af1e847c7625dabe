import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { EsitoSchedina, InvioFailure, InvioUnderWay } from '#schemas/alloggiati.ts'
import { Segnalazione } from '#schemas/schedina.ts'
import { stayWithGuests } from '#src/bookings/index.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import { type Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { plainAddress } from '#src/services/mail/mail-address.ts'
import { addRecordJobs, addServiceJobs, addWatchJobs } from './police-jobs.ts'
import { accountRoutes } from './accounts/account-routes.ts'
import { policeAccounts } from './accounts/police-accounts.ts'
import { alarmNotifier } from './ledger/alarms/alarm-notifier.ts'
import { refuseWhileUnfinished, ledgerReport } from './ledger/ledger-personal-data.ts'
import { addLedgerGauges } from './ledger/gauges.ts'
import { ledgerChainHead, type LedgerBase } from './ledger/ledger-context.ts'
import { checkSuspension, currentSuspension } from './ledger/suspension.ts'
import { serverTimeline } from './ledger/timeline.ts'
import { serviceRoutes } from './routes/service-routes.ts'
import { controlRoutes } from './routes/control-routes.ts'
import { submissionRoutes, verificationRoutes } from './routes/submission-routes.ts'
import { depositRoutes } from './routes/deposit-routes.ts'
import { schedineRoutes } from './routes/schedine-routes.ts'
import { receiptRoutes } from './routes/receipt-routes.ts'
import { validateGuests } from './schedine/accept-schedine.ts'
import { registrationsOf } from './schedine/day/registrations.ts'
import { schedineOf } from './schedine/from-booking.ts'
import { policeServices } from './service/police-service.ts'
import { guestCodes } from './tables/guest-codes.ts'
import { tablesSource } from './tables/tables-source.ts'

interface AlloggiatiOptions {
  config: Config
  keys: Keys
  clock: Clock
  soapTimeoutMs?: number
  policeResponseMs?: number
}

const alloggiati: FastifyPluginAsyncTypebox<AlloggiatiOptions> = async (app, options) => {
  const { config, keys, clock, soapTimeoutMs: timeoutMs, policeResponseMs: respondWithinMs } = options
  const { db, audit, log } = app
  const mode = config.ALLOGGIATI_MODE

  const services = await policeServices({ config, keys, clock, db, log, timeoutMs, respondWithinMs })
  const chainHead = ledgerChainHead(config.DATA_DIR)
  const notifier = {
    db,
    clock,
    log,
    isReported: app.isDiskFullReported,
    mail: app.mail,
    recipients: recipientsOf(config),
    mode
  }
  const watch = { ...notifier, keys, alarm: alarmNotifier(notifier), name: `${hostname()}/${randomUUID()}` }
  const { beforeReady } = app.submissionHooks
  const accounts = policeAccounts({
    base: { ...watch, chainHead, timeline: serverTimeline(), audit, beforeReady }, services, closing: app.shutdownSignal
  })
  const tables = tablesSource(db)
  app.addHook('onListen', () => {
    tables.prepare().catch((err: unknown) => app.log.warn({ err }, 'the code tables could not be indexed'))
  })

  app.addHook('onClose', services.close)
  // Shutdown waits for dispatched submissions. The others leave the send queue.
  app.addHook('preClose', accounts.settled)
  app.addBookingHook('beforeDelete', refuseWhileUnfinished)
  app.addPersonalDataReport(ledgerReport({ keys, eraseAfterDays: config.ERASE_AFTER_DAYS }))
  app.provideGuestCodes(async () => guestCodes(await tables.get(), clock.today()))
  if (mode === 'sandbox') {
    app.addHook('onSend', async (_request, reply) => { reply.header('x-alloggiati-mode', 'sandbox') })
  }

  await startLedger(app, accounts.base)
  addServiceJobs(app, { accounts, tables })
  addWatchJobs(app, { watch, accounts })
  addRecordJobs(app, { chainHead, watch, eraseAfterDays: config.ERASE_AFTER_DAYS })
  addLedgerGauges(app, watch)

  app.addHook('onRoute', (route) => { Object.assign(route.schema!, { tags: ['Alloggiati Web'] }) })
  for (const schema of [Segnalazione, EsitoSchedina, InvioFailure, InvioUnderWay]) app.addSchema(schema)
  await app.register(serviceRoutes, { accounts, mode, clock, tables: tables.get })
  await app.register(accountRoutes, { accounts, keys, mode, clock })
  const context = { accounts, keys, mode, clock, tables: tables.get }
  app.provideBookingRemarks(async (executor, id) => {
    const { ospiti, check_in, numero_notti } = await stayWithGuests(executor, id)
    return await validateGuests(context, schedineOf(ospiti), { id, check_in, numero_notti })
  })
  app.provideRegistrations((day, stays) => registrationsOf(context, db, day, stays))
  await app.register(schedineRoutes, { context })
  await app.register(depositRoutes, { context })
  const submissions = { accounts, mode, keys, clock, chainHead }
  await app.register(submissionRoutes, submissions)
  await app.register(verificationRoutes, submissions)
  await app.register(controlRoutes, { accounts, mode })
  await app.register(receiptRoutes, { accounts, mode, keys, clock })
}

/** Compares the ledger with the noted chain head, at start and after each reconnect. */
async function startLedger (app: FastifyInstance, ledger: LedgerBase): Promise<void> {
  // `checkSuspension` raises the alarm of a new suspension. An existing one is only logged.
  if (await currentSuspension(app.db)) app.log.error('sending is suspended: see GET /api/v1/invii/sospensione')
  await checkSuspension(ledger)
  await ledger.timeline.recordServer(app.db)
  // After a reconnect the server may be connected to another database.
  const { ready } = app.notifications.subscribe({}, () => {
    checkSuspension(ledger).catch((err: unknown) => app.log.warn({ err }, 'the chain head could not be compared'))
  })
  app.addHook('onReady', async () => { await ready() })
}

/** @throws ConfigError for an invalid e-mail address */
function recipientsOf ({ ALARM_EMAIL: addresses }: Config): readonly string[] {
  if (!addresses.every((each) => plainAddress(each) !== undefined)) {
    throw new ConfigError('ALARM_EMAIL', 'deve essere un elenco di indirizzi e-mail, separati da virgola')
  }
  return addresses
}
export default alloggiati
