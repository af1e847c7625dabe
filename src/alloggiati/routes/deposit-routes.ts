import type { RouteShorthandOptions } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { InvioDuplicate, InvioFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { DepositBody, DepositResponse } from '#schemas/deposit.ts'
import { InvioDetail } from '#schemas/invio.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { recordDeposit } from '../ledger/decide.ts'
import { readSubmission, scopeOf } from '../ledger/read-ledger.ts'
import { accept, accountFor, type SchedineContext } from '../schedine/accept-schedine.ts'
import { tieToBooking } from '../schedine/submission.ts'
import { stayGivenErrors } from './schedine-routes.ts'

const REGISTRA_DEPOSITO = {
  config: {
    access: 'admin',
    recentFactor: true,
    idempotent: true,
    findValidationErrors: ({ body }) => stayGivenErrors(body)
  },
  schema: {
    operationId: 'registraDeposito',
    errorCodes: [
      'PRENOTAZIONE_NON_TROVATA', 'PRENOTAZIONE_NON_CONFERMATA', 'OSPITI_CAMBIATI', 'OSPITI_OLTRE_LA_PRENOTAZIONE',
      'SCHEDINE_GIA_INVIATE', 'INVIATA_CON_ALTRO_ACCOUNT', 'INVIO_IN_CORSO', 'VALIDAZIONE', 'CREDENZIALI_MANCANTI'
    ],
    summary: 'Registra le schedine comunicate con il file per la PEC, che così non mancano più. Non invia nulla',
    body: DepositBody,
    response: {
      201: DepositResponse, 409: Ref(InvioDuplicate), 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)])
    }
  }
} satisfies RouteShorthandOptions

/** The `metodo` of a submission by certified mail. */
const METHOD = 'PEC'
const DEPOSITED = [
  'schedina registrata come comunicata per altra via', 'schedine registrate come comunicate per altra via'
] as const

/** Route that records guests who were declared to the questura by certified mail. */
export const depositRoutes: FastifyPluginAsyncTypebox<{ context: SchedineContext }> = async (app, { context }) => {
  const { db } = app
  const { mode, keys } = context
  for (const schema of [InvioDetail, InvioDuplicate]) app.addSchema(schema)

  app.post('/api/v1/invii/deposito', REGISTRA_DEPOSITO, async (request, reply) => {
    const { motivo, protocollo, confermo_diverso, ...file } = request.body
    const named = await accountFor(context, file)
    const accepted = await accept(context, file, named, 'mail')
    const { stay, records, lines, leaders } = accepted
    const { ledger, prenotazione_id } = await tieToBooking(context, accepted, named)
    const { actor: operatore, ip } = authorOf(request)
    const { id } = await recordDeposit(ledger, {
      account: ledger.service.account,
      operatore,
      ip,
      metodo: METHOD,
      records,
      lines,
      leaders,
      id_appartamento: stay.id_appartamento,
      prenotazione_id,
      ...confermo_diverso === true && { confirmation: { motivo } },
      recordReference: (tx) => request.noteDone(tx)
    }, { motivo, protocollo })
    const data = await readSubmission(db, keys, scopeOf(mode), id)
    const message = countWithNoun(lines.length, ...DEPOSITED)
    return reply.code(201).header('location', `/api/v1/invii/${id}`).send({ message, data, status: 201 })
  })
}
