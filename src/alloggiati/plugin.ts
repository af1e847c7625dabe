import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { EsitoSchedina, InvioFailure } from '#schemas/alloggiati.ts'
import { Segnalazione } from '#schemas/schedina.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { addAlloggiatiJobs, addRecordJobs } from './jobs.ts'
import { refuseWhileUnfinished } from './ledger/booking-deletion.ts'
import { addLedgerGauges } from './ledger/gauges.ts'
import { ledgerChainHead, type LedgerContext } from './ledger/context.ts'
import { checkSuspension } from './ledger/suspension.ts'
import { receiptArchive } from './receipts/archive.ts'
import { apartmentRoutes } from './routes/apartments.ts'
import { checkRoutes } from './routes/check.ts'
import { codiciRoutes } from './routes/codici.ts'
import { controlRoutes } from './routes/control.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { sandboxRoutes } from './routes/sandbox.ts'
import { schedineRoutes } from './routes/schedine.ts'
import { submissionRoutes } from './routes/submissions.ts'
import { verificationRoutes } from './routes/verification.ts'
import { policeService } from './service/police-service.ts'
import { tablesSource } from './tables/source.ts'

export interface AlloggiatiOptions { config: Config, keys: Keys, clock: Clock, soapTimeoutMs?: number }

/** The legal registration of guests with the State Police. */
const alloggiati: FastifyPluginAsyncTypebox<AlloggiatiOptions> = async (app, options) => {
  const { config, keys, clock, soapTimeoutMs: timeoutMs } = options
  const { db, audit, log } = app
  const mode = config.ALLOGGIATI_MODE

  const { service, close } = await policeService({ config, keys, clock, db, log, timeoutMs })
  const chainHead = ledgerChainHead(config.DATA_DIR)
  const ledger: LedgerContext | null =
    service && {
      db,
      keys,
      clock,
      service,
      chainHead,
      audit,
      log,
      beforeReady: app.submissionHooks.beforeReady,
      name: `${hostname()}/${randomUUID()}`
    }
  const tables = tablesSource(db)
  const archive = receiptArchive(db, service, clock)

  app.addHook('onClose', close)
  app.addBookingHook('beforeDelete', refuseWhileUnfinished)
  if (mode === 'sandbox') {
    app.addHook('onSend', async (_request, reply) => { reply.header('x-alloggiati-mode', 'sandbox') })
  }

  if (ledger !== null) {
    if (await checkSuspension(db, chainHead)) log.error('sending is suspended: see GET /api/v1/invii/sospensione')
    addAlloggiatiJobs(app, { ledger, archive, tables })
    addLedgerGauges(app, ledger)
  }

  addRecordJobs(app, { keys, chainHead, eraseAfterDays: config.ERASE_AFTER_DAYS })

  for (const schema of [Segnalazione, EsitoSchedina, InvioFailure]) app.addSchema(schema)
  await app.register(checkRoutes, { service })
  await app.register(schedineRoutes, { context: { ledger, clock, tables: tables.get } })
  await app.register(submissionRoutes, { ledger, mode, keys, clock })
  await app.register(controlRoutes, { ledger, mode })
  await app.register(verificationRoutes, { keys, clock, chainHead })
  await app.register(receiptRoutes, { archive, account: service?.account, clock })
  await app.register(codiciRoutes, { tables: tables.get })
  await app.register(apartmentRoutes, { service })
  if (service?.mode === 'sandbox') await app.register(sandboxRoutes, { utente: service.utente })
}
export default alloggiati
