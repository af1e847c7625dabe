import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import {
  BookingToVerify,
  CheckAnswer,
  CheckFailure,
  CrossCheckAnswer,
  CrossCheckQuery,
  EsitoSchedina,
  InvioAnswer,
  InvioBody,
  InvioDuplicate,
  InvioFailure,
  ReceiptQuery,
  SandboxRecords,
  ValidaAnswer,
  ValidaBody
} from '#schemas/alloggiati.ts'
import { Codice, Codici, CodiciQuery } from '#schemas/codici.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { Segnalazione } from '#schemas/schedina.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { isKnown } from '#src/lib/etag.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { authenticate, downloadTable } from './service/calls.ts'
import { crossCheck } from './receipts/cross-check.ts'
import { ConnessioneFallita } from './errors.ts'
import type { LedgerContext } from './ledger/context.ts'
import { ledgerHead } from './ledger/head.ts'
import { refuseWhileUnfinished } from './ledger/booking-deletion.ts'
import { ledgerAlarms } from './ledger/alarms.ts'
import { addLedgerGauges } from './ledger/gauges.ts'
import { holdOrStop } from './ledger/hold.ts'
import { reconcileDays } from './ledger/reconcile/job.ts'
import { ledgerRoutes } from './routes/invii.ts'
import { sweep } from './ledger/sweep.ts'
import { receiptArchive } from './receipts/archive.ts'
import { apartmentRoutes } from './routes/apartments.ts'
import { storedRoutes } from './routes/stored.ts'
import { validate } from './rules/validate.ts'
import { acquired } from './service/sandbox/store.ts'
import { policeService } from './service/police-service.ts'
import { AlloggiatiCredentialsError } from './service/soap/errors.ts'
import type { Desk } from './schedine/accept.ts'
import { submit } from './schedine/submission.ts'
import { codici } from './tables/codici.ts'
import { tablesSource } from './tables/source.ts'

const tags = ['Alloggiati Web']

/** The legal registration of guests with the State Police. */
const alloggiati: FastifyPluginAsyncTypebox<{
  config: Config
  keys: Keys
  clock: Clock
  soapTimeoutMs?: number
}> = async (app, options) => {
  const { config, keys, clock, soapTimeoutMs: timeoutMs } = options
  const { db, audit, log } = app
  const { service, close } = await policeService({ config, keys, clock, db, log, timeoutMs })
  const ledger: LedgerContext | null = service && {
    db,
    keys,
    clock,
    service,
    head: ledgerHead(config.DATA_DIR),
    audit,
    log,
    name: `${hostname()}/${randomUUID()}`
  }
  const tables = tablesSource(db)
  const archive = receiptArchive(db, service, clock)
  const desk: Desk = { ledger, clock, log, tables: tables.get }

  app.addHook('onClose', close)
  app.addBookingHook('beforeDelete', refuseWhileUnfinished)
  const shared = [
    Segnalazione,
    EsitoSchedina,
    InvioFailure,
    InvioDuplicate,
    CheckFailure,
    BookingToVerify,
    Codice,
    Codici
  ]
  for (const schema of shared) app.addSchema(schema)

  if (config.ALLOGGIATI_MODE === 'sandbox') {
    app.addHook('onSend', (_request, reply, payload, done) => {
      reply.header('x-alloggiati-mode', 'sandbox')
      done(null, payload)
    })
  }

  if (ledger !== null) {
    if (await holdOrStop(db, ledger.head)) log.error('sending is stopped: see GET /api/v1/invii/sospensione')
    app.addJob({ name: 'ledger-sweep', cron: '*/30 * * * * *', atStart: true, run: () => sweep(ledger) })
    app.addJob({ name: 'reconciliation', cron: '0 6-23 * * *', run: () => reconcileDays(ledger, archive) })
    app.addJob({ name: 'ledger-alarms', cron: '*/5 * * * *', run: ledgerAlarms(ledger).raise })
    addLedgerGauges(app, ledger)
  }
  app.addJob({ name: 'receipts', cron: '30 6 * * *', run: archive.fetchMissing })
  if (service !== null) {
    app.addJob({
      name: 'code-tables',
      cron: '10 4 * * *',
      run: () => tables.refresh((tipo) => downloadTable(service, tipo))
    })
  }

  await app.register(ledgerRoutes, { ledger, mode: config.ALLOGGIATI_MODE, keys, clock })
  await app.register(storedRoutes, { desk })
  await app.register(apartmentRoutes, { service })

  app.route({
    method: 'GET',
    url: '/api/alloggiati/check',
    config: { access: 'auth' },
    schema: {
      operationId: 'checkAlloggiati',
      tags,
      summary: 'Prova la connessione e le credenziali',
      // Too much load is a 503 too, of the common shape.
      response: { 200: CheckAnswer, 503: Type.Union([Ref(CheckFailure), Ref(ErrorBody)]) }
    },
    handler: async () => {
      if (service === null) {
        throw new ConnessioneFallita('CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate')
      }
      try {
        const { esito, ErroreDes } = await authenticate(service)
        if (esito) {
          return { connected: true, message: 'Connessione ad Alloggiati Web riuscita', endpoint: service.endpoint }
        }
        service.token.invalidate()
        throw new ConnessioneFallita('CREDENZIALI_RIFIUTATE', `Il servizio ha rifiutato l'accesso: ${ErroreDes}`)
      } catch (err) {
        if (err instanceof ConnessioneFallita) throw err
        if (err instanceof AlloggiatiCredentialsError) {
          throw new ConnessioneFallita('CREDENZIALI_RIFIUTATE', err.message)
        }
        throw new ConnessioneFallita(
          'SERVIZIO_NON_RAGGIUNGIBILE',
          err instanceof Error ? err.message : 'Servizio non raggiungibile'
        )
      }
    }
  })

  app.route({
    method: 'POST',
    url: '/api/alloggiati/valida',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'validaSchedine',
      tags,
      summary: 'Controlla le schedine con le regole ufficiali',
      body: ValidaBody,
      response: { 200: ValidaAnswer }
    },
    handler: async (request) => {
      const { ospiti, prenotazione } = request.body
      const fileUnico = prenotazione.id_appartamento !== undefined
      const { valid, errors, warnings } = validate({
        ospiti,
        soggiorno: prenotazione,
        tables: await tables.get(),
        today: clock.today(),
        fileUnico
      })
      return { valid, errors, warnings }
    }
  })

  app.route({
    method: 'POST',
    url: '/api/alloggiati/invio',
    config: { access: 'auth', scope: 'invio', idempotent: true },
    schema: {
      operationId: 'inviaSchedine',
      tags,
      summary: 'Invia le schedine alla Polizia (testMode: solo prova). Un invio non si può annullare',
      body: InvioBody,
      // An Idempotency-Key that was used for something else is a 422 too, of the common shape.
      response: { 200: InvioAnswer, 409: Ref(InvioDuplicate), 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)]) }
    },
    handler: async (request) => submit(desk, request.body, authorOf(request))
  })

  app.route({
    method: 'GET',
    url: '/api/alloggiati/ricevute',
    config: { access: 'auth' },
    schema: {
      operationId: 'getRicevuta',
      tags,
      summary: 'La ricevuta di un giorno, in PDF',
      querystring: ReceiptQuery,
      response: {
        200: {
          description: 'Il PDF firmato',
          content: { 'application/pdf': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) } }
        }
      }
    },
    handler: async (request, reply) => {
      const { data } = request.query
      const pdf = await archive.getReceipt(data)
      return reply
        .type('application/pdf')
        .header('content-disposition', `attachment; filename=ricevuta_${data}.pdf`)
        .send(pdf)
    }
  })

  app.route({
    method: 'GET',
    url: '/api/alloggiati/verifica-ricevute',
    config: { access: 'auth' },
    schema: {
      operationId: 'verificaRicevute',
      tags,
      summary: 'Confronta prenotazioni arrivate, invii e ricevute',
      querystring: CrossCheckQuery,
      response: { 200: CrossCheckAnswer }
    },
    handler: async (request) => crossCheck(db, service?.account ?? '', clock.today(), request.query)
  })

  app.route({
    method: 'GET',
    url: '/api/alloggiati/codici',
    config: { access: 'auth' },
    schema: {
      operationId: 'getCodici',
      tags,
      summary: 'Le tabelle dei codici; q e limit cercano',
      querystring: CodiciQuery,
      response: { 200: Ref(Codici), 304: Type.Null() }
    },
    handler: async (request, reply) => {
      const current = await tables.get()
      const tag = `"${current.version}"`
      reply.headers({ etag: tag, 'cache-control': 'private, no-cache' })
      if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
      return codici(current, request.query)
    }
  })

  if (service?.mode === 'sandbox') {
    app.route({
      method: 'GET',
      url: '/api/alloggiati/sandbox/schedine',
      config: { access: 'auth' },
      schema: {
        operationId: 'listSchedineSandbox',
        tags,
        summary: 'Le schedine acquisite dalla sandbox',
        response: { 200: SandboxRecords }
      },
      handler: async () => ({
        data: (await acquired(db, service.utente)).map((row) => ({
          ...row,
          acquisita_il: new Date(row.acquisita_il).toISOString()
        }))
      })
    })
  }
}
export default alloggiati
