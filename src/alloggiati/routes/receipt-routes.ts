import type { RouteShorthandOptions } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { BookingToVerify, CrossCheckResponse, CrossCheckQuery, ProlongedStay, ReceiptQuery } from '#schemas/receipts.ts'
import { POLICE_ERRORS } from '#schemas/errors/groups.ts'
import { orderOfDaysErrors } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { PoliceAccounts } from '../accounts/police-accounts.ts'
import { crossCheck } from '../receipts/cross-check.ts'

interface ReceiptRoutesOptions {
  accounts: PoliceAccounts
  mode: 'sandbox' | 'production'
  keys: Keys
  clock: Clock
}

const GET_RICEVUTA = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getRicevuta',
    errorCodes: ['STRUTTURA_NON_TROVATA', 'RICEVUTA_NON_TROVATA', 'CARTELLA_NON_SCRIVIBILE', ...POLICE_ERRORS],
    summary: 'La ricevuta di un giorno, in PDF',
    querystring: ReceiptQuery,
    response: {
      200: {
        description: 'Il PDF firmato',
        content: { 'application/pdf': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) } }
      },
      503: Ref(ErrorBody)
    }
  }
} satisfies RouteShorthandOptions

const VERIFICA_RICEVUTE = {
  config: { access: 'auth', findValidationErrors: ({ query }) => orderOfDaysErrors(query) },
  schema: {
    operationId: 'verificaRicevute',
    summary: 'Confronta prenotazioni arrivate, invii e ricevute. Chiede prima le ricevute che mancano, per 3 secondi',
    querystring: CrossCheckQuery,
    response: { 200: CrossCheckResponse }
  }
} satisfies RouteShorthandOptions

/** Routes of the police receipts, and of their comparison with bookings and submissions. */
export const receiptRoutes: FastifyPluginAsyncTypebox<ReceiptRoutesOptions> = async (
  app, { accounts, mode, keys, clock }
) => {
  app.addSchema(BookingToVerify)
  app.addSchema(ProlongedStay)

  app.get('/api/alloggiati/ricevute', GET_RICEVUTA, async (request, reply) => {
    const { data, struttura_id } = request.query
    const archive = (await accounts.of(struttura_id))?.archive ?? accounts.withoutAccount
    // Receipts of earlier accounts belong to the first establishment.
    const pdf = await archive.getReceipt(data, { earlier: (struttura_id ?? 1) === 1 })
    return reply
      .type('application/pdf')
      .header('content-disposition', `attachment; filename=ricevuta_${data}.pdf`)
      .send(pdf)
  })

  app.get('/api/alloggiati/verifica-ricevute', VERIFICA_RICEVUTE, async (request, reply) => {
    const archives = (await accounts.read()).accounts.map(({ archive }) => archive)
    const requested = new Map(await Promise.all(archives.map(async (archive) => {
      const days = await archive.fetchDueWithTimeout().catch((err: unknown) => {
        request.log.warn({ err }, 'due receipts could not be fetched')
        return []
      })
      return [archive.account, days] as const
    })))
    const reasonFor = (account: string, day: Day) =>
      (archives.find((each) => each.account === account) ?? accounts.withoutAccount)
        .reasonFor(account, day, requested.get(account) ?? [])
    const comparison = { db: app.db, keys, mode, today: clock.today(), reasonFor }
    return reply.sendPieces(crossCheck(comparison, request.query))
  })
}
