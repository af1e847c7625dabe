import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { EsitoSchedina, InvioFailure, InvioUnderWay } from '#schemas/alloggiati.ts'
import { Segnalazione } from '#schemas/schedina.ts'
import { ConfigError, type Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { plainAddress } from '#src/services/mail/address.ts'
import { addRecordJobs, addServiceJobs, addWatchJobs } from './jobs.ts'
import { alarmBell } from './ledger/alarms/bell.ts'
import { refuseWhileUnfinished } from './ledger/booking-deletion.ts'
import { addLedgerGauges } from './ledger/gauges.ts'
import { ledgerHolding } from './ledger/holding.ts'
import { createLane } from './ledger/sending/lane.ts'
import { ledgerChainHead, type LedgerContext } from './ledger/context.ts'
import { checkSuspension, currentSuspension } from './ledger/suspension.ts'
import { serverTimeline } from './ledger/timeline.ts'
import { receiptArchive } from './receipts/archive.ts'
import { apartmentRoutes } from './routes/apartments.ts'
import { checkRoutes } from './routes/check.ts'
import { codiciRoutes } from './routes/codici.ts'
import { controlRoutes } from './routes/control.ts'
import { correctionRoutes } from './routes/corrections.ts'
import { dayRoutes } from './routes/day.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { sandboxRoutes } from './routes/sandbox.ts'
import { schedineRoutes } from './routes/schedine.ts'
import { submissionRoutes } from './routes/submissions.ts'
import { verificationRoutes } from './routes/verification.ts'
import { judge } from './schedine/accept.ts'
import { fromBooking } from './schedine/from-booking.ts'
import { policeService } from './service/police-service.ts'
import { guestCodes } from './tables/guest-codes.ts'
import { tablesSource } from './tables/source.ts'

export interface AlloggiatiOptions {
  config: Config
  keys: Keys
  clock: Clock
  soapTimeoutMs?: number
  policeAnswerMs?: number
}

/** The legal registration of guests with the State Police. */
const alloggiati: FastifyPluginAsyncTypebox<AlloggiatiOptions> = async (app, options) => {
  const { config, keys, clock, soapTimeoutMs: timeoutMs, policeAnswerMs: answerWithinMs } = options
  const { db, audit, log } = app
  const mode = config.ALLOGGIATI_MODE

  const { service, close } = await policeService({ config, keys, clock, db, log, timeoutMs, answerWithinMs })
  const chainHead = ledgerChainHead(config.DATA_DIR, keys)
  const bell = { db, clock, log, isTold: app.isToldOfDisk, mail: app.mail, recipients: recipientsOf(config), mode }
  const watch = { ...bell, keys, alarm: alarmBell(bell), name: `${hostname()}/${randomUUID()}` }
  const ledger: LedgerContext | null =
    service && {
      ...watch,
      service,
      lane: createLane(app.closing),
      chainHead,
      timeline: serverTimeline(),
      audit,
      beforeReady: app.submissionHooks.beforeReady
    }
  const tables = tablesSource(db)
  const archive = receiptArchive({ db, service, mode, clock })

  app.addHook('onClose', close)
  app.addBookingHook('beforeDelete', refuseWhileUnfinished)
  app.addHolding(ledgerHolding({ keys, eraseAfterDays: config.ERASE_AFTER_DAYS }))
  app.provideGuestCodes(async () => guestCodes(await tables.get(), clock.today()))
  if (mode === 'sandbox') {
    app.addHook('onSend', async (_request, reply) => { reply.header('x-alloggiati-mode', 'sandbox') })
  }

  if (ledger !== null) {
    // One that begins now raises the alarm.
    if (await currentSuspension(db)) log.error('sending is suspended: see GET /api/v1/invii/sospensione')
    await checkSuspension(ledger)
    await ledger.timeline.note(db)
    addServiceJobs(app, { ledger, archive, tables })
    // What was dispatched is followed to its end; nothing else is in the lane then.
    app.addHook('preClose', ledger.lane.empty)
    // When the connection was lost, another database may have taken the place of the one before.
    const { ready } = app.changes.subscribe({}, () => {
      checkSuspension(ledger).catch((err: unknown) =>
        log.warn({ err }, 'the end of the chain could not be compared')
      )
    })
    app.addHook('onReady', async () => { await ready() })
  }
  addWatchJobs(app, { watch, service, ledger, archive })
  addRecordJobs(app, { keys, chainHead, watch, eraseAfterDays: config.ERASE_AFTER_DAYS })
  addLedgerGauges(app, watch)

  for (const schema of [Segnalazione, EsitoSchedina, InvioFailure, InvioUnderWay]) app.addSchema(schema)
  await app.register(checkRoutes, { service })
  const context = { ledger, clock, tables: tables.get }
  app.provideBookingRemarks(async (executor, id) => {
    const { schedine, soggiorno } = await fromBooking(executor, id, {})
    return await judge(context, schedine, soggiorno)
  })
  await app.register(schedineRoutes, { context })
  await app.register(dayRoutes, { context })
  await app.register(submissionRoutes, { ledger, mode, keys, clock })
  await app.register(correctionRoutes, { mode, keys })
  await app.register(controlRoutes, { ledger, mode })
  await app.register(verificationRoutes, { keys, clock, chainHead })
  await app.register(receiptRoutes, { archive, mode, keys, clock })
  await app.register(codiciRoutes, { tables: tables.get })
  await app.register(apartmentRoutes, { service })
  if (service?.mode === 'sandbox') await app.register(sandboxRoutes, { utente: service.utente })
}

/** @throws ConfigError for what is no address */
function recipientsOf ({ ALARM_EMAIL: addresses }: Config): readonly string[] {
  if (!addresses.every((each) => plainAddress(each) !== undefined)) {
    throw new ConfigError('ALARM_EMAIL', 'deve essere un elenco di indirizzi e-mail, separati da virgola')
  }
  return addresses
}
export default alloggiati
