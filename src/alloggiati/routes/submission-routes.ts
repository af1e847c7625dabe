import type { RouteShorthandOptions } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { InvioFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import { CorrectionResponse, CorrectionBody, DecisionResponse, DecisionBody } from '#schemas/decisions.ts'
import { Invio, InvioDetail, InvioDetailResponse, InvioList, InvioQuery } from '#schemas/invio.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { orderOfDaysErrors } from '#src/lib/errors.ts'
import { etag } from '#src/lib/etag.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import { addDays, type Clock } from '#src/lib/time.ts'
import { InvioFallito } from '../errors.ts'
import type { AccountsInUse, PoliceAccounts } from '../accounts/police-accounts.ts'
import type { LedgerBase, LedgerContext } from '../ledger/ledger-context.ts'
import { decide, decisionErrors, recordCorrection } from '../ledger/decide.ts'
import { checkSuspension } from '../ledger/suspension.ts'
import { countSubmissions, scopeOf, readSubmission, readSubmissionPage } from '../ledger/read-ledger.ts'
import { STATES } from '#schemas/submission.ts'
import { carryOut } from '../ledger/sending/carry-out.ts'
import { VerificaInvii, VerificaInviiQuery } from '#schemas/verifica-invii.ts'
import type { ChainHead } from '#src/database/chain-head.ts'
import { verifyLedger } from '../ledger/verify-ledger.ts'

interface SubmissionRoutesOptions {
  accounts: PoliceAccounts
  mode: 'sandbox' | 'production'
  keys: Keys
  clock: Clock
  chainHead: ChainHead
}

const LIST_INVII = {
  config: { access: 'auth', findValidationErrors: ({ query }) => orderOfDaysErrors(query) },
  schema: {
    operationId: 'listInvii',
    summary: 'Gli invii, dal più recente, a pagine',
    querystring: InvioQuery,
    response: { 200: InvioList }
  }
} satisfies RouteShorthandOptions

const GET_INVIO = {
  config: { access: 'auth', versioned: true },
  schema: {
    operationId: 'getInvio',
    errorCodes: ['INVIO_NON_TROVATO'],
    summary: 'Un invio con la sua storia; gli ospiti sono mascherati',
    params: IdParams,
    response: { 200: InvioDetailResponse }
  }
} satisfies RouteShorthandOptions

const DECIDI_INVIO = {
  config: {
    access: 'admin',
    recentFactor: true,
    idempotent: true,
    versioned: true,
    findValidationErrors: ({ body }) => decisionErrors(body)
  },
  schema: {
    operationId: 'decidiInvio',
    errorCodes: [
      'INVIO_NON_TROVATO', 'INVIO_CAMBIATO', 'NULLA_DA_DECIDERE', 'DECISIONE_NON_POSSIBILE', 'CREDENZIALI_MANCANTI',
      'INVII_SOSPESI'
    ],
    summary: 'Decide di un invio sconosciuto o da verificare, o annulla uno che aspetta. La decisione è definitiva',
    params: IdParams,
    body: DecisionBody,
    response: { 200: DecisionResponse, 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)]) }
  }
} satisfies RouteShorthandOptions

const REGISTRA_CORREZIONE = {
  config: { access: 'auth', scope: 'invio', idempotent: true, headers: { sends: { Location: [] } } },
  schema: {
    operationId: 'registraCorrezione',
    errorCodes: ['INVIO_NON_TROVATO'],
    summary: 'Registra che alla Questura è stata chiesta la correzione di un invio. Non invia nulla',
    params: IdParams,
    body: CorrectionBody,
    response: { 201: CorrectionResponse }
  }
} satisfies RouteShorthandOptions

const VERIFICA_INVII = {
  config: { access: 'admin', findValidationErrors: ({ query }) => orderOfDaysErrors(query) },
  schema: {
    operationId: 'verificaInvii',
    summary: 'Ripercorre il registro degli invii e dice se è integro',
    querystring: VerificaInviiQuery,
    response: { 200: VerificaInvii }
  }
} satisfies RouteShorthandOptions

/** A verification without `da` and `a` starts this many days ago. */
const DEFAULT_DAYS = 30
/** Time limit of a verification, so that the response takes less than 25 s. */
const WITHIN_MS = 20_000

/** Routes to list and read submissions, decide on one, and record that its correction was requested. */
export const submissionRoutes: FastifyPluginAsyncTypebox<SubmissionRoutesOptions> = async (
  app, { accounts, mode, keys, clock }
) => {
  const { db, audit, submissionHooks: { beforeReady } } = app
  const scope = scopeOf(mode)
  const decisions = { db, audit, clock, scope, beforeReady }
  for (const schema of [Invio, InvioDetail]) app.addSchema(schema)

  app.get('/api/v1/invii', LIST_INVII, async (request, reply) => {
    const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, ...filters } = request.query
    const [{ data, next }, total] = await Promise.all([
      readSubmissionPage(db, scope, filters, limit, cursor),
      conteggio ? countSubmissions(db, mode, filters) : undefined
    ])
    if (total !== undefined) reply.header('x-total-count', total)
    if (next) reply.header('link', nextLink('/api/v1/invii', request.query, next))
    return { data }
  })
  app.get('/api/v1/invii/:id', GET_INVIO, async (request, reply) => {
    const data = await readSubmission(db, keys, scope, request.params.id)
    // The ETag is for decisions, not for caching: a new receipt changes the response but not the version.
    reply.header('etag', etag(data.versione))
    return { data }
  })
  app.post('/api/v1/invii/:id/decisione', DECIDI_INVIO, async (request, reply) => {
    const { params: { id }, body } = request
    const inUse = await accounts.read()
    if (body.decisione === 'reinvia') await requireSending(accounts.base, inUse)
    const utente = await decide({ ...decisions, inUse: inUse.names }, id, body, authorOf(request))
    const sender = body.decisione === 'reinvia' ? inUse.named(utente)?.ledger : undefined
    if (sender) await sendAgain(sender, id)
    const data = await readSubmission(db, keys, scope, id)
    reply.header('etag', etag(data.versione))
    return { message: `Decisione registrata. Stato dell’invio: ${STATES[data.stato]}`, data, status: 200 }
  })
  app.post('/api/v1/invii/:id/correzione', REGISTRA_CORREZIONE, async (request, reply) => {
    const { id } = request.params
    await db.transaction(async (tx) => {
      await request.noteDone(tx)
      await recordCorrection(tx, audit, scope, id, request.body, authorOf(request))
    })
    const data = await readSubmission(db, keys, scope, id)
    return reply.code(201).send({ message: 'Richiesta di correzione registrata', data, status: 201 })
  })
}

/** Route that checks the ledger for tampering. */
export const verificationRoutes: FastifyPluginAsyncTypebox<SubmissionRoutesOptions> = async (
  app, { clock, chainHead }
) => {
  app.get('/api/v1/invii/verifica', VERIFICA_INVII, async ({ query: { da, a } }) => {
    const from = da ?? (a === undefined ? addDays(clock.today(), -DEFAULT_DAYS) : undefined)
    const found = await verifyLedger(app.db, chainHead, { from, to: a, withinMs: WITHIN_MS })
    return { ...found, da: from ?? null, a: a ?? null, status: 200 }
  })
}

/** @throws InvioFallito without credentials, and while sending is suspended */
async function requireSending (base: LedgerBase, { accounts }: AccountsInUse): Promise<void> {
  if (accounts.length === 0) throw new InvioFallito('CREDENZIALI_MANCANTI')
  if (await checkSuspension(base)) throw new InvioFallito('INVII_SOSPESI')
}

/**
 * Resends, and waits for the result until the time limit of the response. If the resend fails, the sweep retries, and
 * the caller gets no error, because the guests may have been acquired.
 */
async function sendAgain (ledger: LedgerContext, id: number): Promise<void> {
  const sending = carryOut(ledger, id, false).catch((err: unknown) => {
    ledger.log.error({ err, invio: id }, 'a resent submission could not be followed to its end')
  })
  await waitAtMost(ledger.service.respondWithinMs, sending)
}
