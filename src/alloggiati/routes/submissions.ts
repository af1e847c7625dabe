import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { InvioFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import { DecisionAnswer, DecisionBody } from '#schemas/decisions.ts'
import { Invio, InvioDetail, InvioDetailAnswer, InvioList, InvioQuery } from '#schemas/invio.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { orderOfDaysFaults } from '#src/lib/errors.ts'
import { etag } from '#src/lib/etag.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { within } from '#src/lib/within.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import type { Clock } from '#src/lib/time.ts'
import { InvioFallito } from '../errors.ts'
import type { LedgerContext } from '../ledger/context.ts'
import { decide, decisionFaults } from '../ledger/decide.ts'
import { checkSuspension } from '../ledger/suspension.ts'
import { countSubmissions, scopeOf, readSubmission, readSubmissionPage } from '../ledger/read.ts'
import { STATES } from '#schemas/submission.ts'
import { carryOut } from '../ledger/sending/worker.ts'

const tags = ['Alloggiati Web']

export interface SubmissionRoutesOptions {
  /** Null without credentials: what was sent can be read all the same. */
  ledger: LedgerContext | null
  mode: 'sandbox' | 'production'
  keys: Keys
  clock: Clock
}

/** The submissions with what came of them, and what a person decides where no rule can. */
export const submissionRoutes: FastifyPluginAsyncTypebox<SubmissionRoutesOptions> = async (
  app,
  { ledger, mode, keys, clock }
) => {
  const { db } = app
  const scope = scopeOf(mode)
  for (const schema of [Invio, InvioDetail]) app.addSchema(schema)

  app.route({
    method: 'GET',
    url: '/api/v1/invii',
    config: { access: 'auth', findFaults: ({ query }) => orderOfDaysFaults(query) },
    schema: {
      operationId: 'listInvii',
      tags,
      summary: 'Gli invii, dal più recente, a pagine',
      querystring: InvioQuery,
      response: { 200: InvioList }
    },
    handler: async (request, reply) => {
      const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, ...filters } = request.query
      const [{ data, next }, total] = await Promise.all([
        readSubmissionPage(db, scope, filters, limit, cursor),
        conteggio ? countSubmissions(db, mode, filters) : undefined
      ])
      if (total !== undefined) reply.header('x-total-count', total)
      if (next) reply.header('link', nextLink('/api/v1/invii', request.query, next))
      return { data }
    }
  })

  app.route({
    method: 'GET',
    url: '/api/v1/invii/:id',
    config: { access: 'auth', versioned: true },
    schema: {
      operationId: 'getInvio',
      errorCodes: ['INVIO_NON_TROVATO'],
      tags,
      summary: 'Un invio con la sua storia; gli ospiti sono mascherati',
      params: IdParams,
      response: { 200: InvioDetailAnswer }
    },
    handler: async (request, reply) => {
      const data = await readSubmission(db, keys, scope, request.params.id)
      // For deciding, not for caching: a receipt that comes in changes the answer and not the version.
      reply.header('etag', etag(data.versione))
      return { data }
    }
  })

  app.route({
    method: 'POST',
    url: '/api/v1/invii/:id/decisione',
    config: {
      access: 'admin',
      recentFactor: true,
      idempotent: true,
      versioned: true,
      findFaults: ({ body }) => decisionFaults(body)
    },
    schema: {
      operationId: 'decidiInvio',
      errorCodes: [
        'INVIO_NON_TROVATO', 'INVIO_CAMBIATO', 'NULLA_DA_DECIDERE', 'DECISIONE_NON_POSSIBILE', 'CREDENZIALI_MANCANTI',
        'INVII_SOSPESI'
      ],
      tags,
      summary: 'Decide di un invio sconosciuto o da verificare, o annulla uno che aspetta. La decisione è definitiva',
      params: IdParams,
      body: DecisionBody,
      response: { 200: DecisionAnswer, 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)]) }
    },
    handler: async (request, reply) => {
      const {
        params: { id },
        body
      } = request
      const sender = body.decisione === 'reinvia' ? await readyToSend() : undefined
      await decide(
        {
          db,
          audit: app.audit,
          clock,
          scope,
          beforeReady: app.submissionHooks.beforeReady,
          account: ledger?.service.account
        },
        id,
        body,
        authorOf(request)
      )
      if (sender) await sendAgain(sender, id)
      const data = await readSubmission(db, keys, scope, id)
      reply.header('etag', etag(data.versione))
      return { message: `Decisione registrata. Stato dell'invio: ${STATES[data.stato]}`, data, status: 200 }
    }
  })

  /** A decision to send again is refused while nothing can be sent. */
  async function readyToSend (): Promise<LedgerContext> {
    if (ledger === null) throw new InvioFallito('CREDENZIALI_MANCANTI')
    if (await checkSuspension(ledger)) throw new InvioFallito('INVII_SOSPESI')
    return ledger
  }

  /**
   * Not waited for longer than the caller waits. When it does not succeed at once, the sweep tries again: a guest who
   * may have been acquired is never reported as not sent.
   */
  async function sendAgain (context: LedgerContext, id: number): Promise<void> {
    const sending = carryOut(context, id, false).catch((err: unknown) => {
      app.log.error({ err, invio: id }, 'a submission that was decided on could not be followed to its end')
    })
    await within(context.service.answerWithinMs, sending)
  }
}
