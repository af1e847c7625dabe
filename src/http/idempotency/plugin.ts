import { randomUUID } from 'node:crypto'
import { and, eq, gte, isNull, lt, or, sql, type SQL } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import createError from '@fastify/error'
import fp from 'fastify-plugin'
import { idempotency_keys as keys } from '#drizzle/tables/idempotency.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { mayPass } from '#src/database/problems.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import type { FindFaults } from '../faults.ts'
import { freedLater } from './freed-later.ts'
import { forgetAnswers, forgetLateAnswers, type ForgetAnswers } from './forgotten-answers.ts'

export const ChiaveRiusata = createError(
  'IDEMPOTENCY_KEY_RIUSATA',
  'Idempotency-Key già usata con una richiesta diversa',
  422
)
export const ChiaveInCorso = createError(
  'IDEMPOTENCY_KEY_IN_CORSO',
  'Una richiesta con la stessa Idempotency-Key è ancora in corso o è rimasta interrotta',
  409
)

export const ChiaveEseguita = createError(
  'IDEMPOTENCY_KEY_ESEGUITA',
  'La richiesta con questa Idempotency-Key è già stata eseguita; la sua risposta non è conservata',
  409
)

declare module 'fastify' {
  interface FastifyInstance {
    forgetAnswers: ForgetAnswers
  }
  interface FastifyContextConfig {
    /** The route honours `Idempotency-Key`. */
    idempotent?: boolean
  }
  interface FastifyRequest {
    /** The key under which this request's answer will be kept. */
    idempotencyKey: string | null
    /** Tells the row of this key from a later one of the same key. */
    idempotencyClaim: string
    /**
     * What an earlier request with the same key has begun, if it has no answer that is kept: a route that calls
     * `noteBegun` must answer from that, and begin nothing.
     */
    begun: readonly string[] | null
    /**
     * The answer is not the last one, and is not kept: a repeated request is answered from what was begun. Where
     * nothing was, the key is free again.
     */
    isUndecided: boolean
    /** What was begun under the key has ended: when it failed for a reason that may pass, the key is free again. */
    hasEnded: boolean
    /**
     * Notes beside the key, in the transaction that begins it, by which reference the work of this request is known: a
     * word without blanks. Work in several parts has a reference each. Without a key it does nothing.
     */
    noteBegun (tx: Transaction, reference: string): Promise<void>
    /**
     * Notes beside the key, in the transaction that does the work of this request, that it is done: should the answer
     * get lost, or become a 5xx, it is not done again (ChiaveEseguita). Work that is harmless when it is done twice
     * needs no note, nor does work that is begun. Without a key it does nothing.
     */
    noteDone (tx: Executor): Promise<void>
  }
}

/** Headers that belong to an answer. */
const KEPT_HEADERS = ['etag', 'location'] as const

const HEADER_MAX = 255

/** Characters of an answer that is kept. */
const ANSWER_MAX = 65_536
/** And of a refusal: it costs the caller nothing, and could be asked for under thousands of keys. */
const REFUSAL_MAX = 4096

/** The status of a key whose work is done, and whose answer is not yet known. */
const DONE = 0
/** No request takes longer. */
const WHILE_MS = 5 * 60_000

/** Between the references of one key. */
const SEPARATOR = ' '

/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): the same key and body within 24 hours gives the stored
 * answer, another body 422, a first request still at work 409. The key is stored before the handler runs. When a
 * process dies half-way, the key stays taken: it is not known whether the work was done, and doing it twice is
 * the greater harm. A route that notes what it has begun answers a repeated request from that; one that notes in its
 * transaction that the work is done is not asked again. After a 5xx of work that was neither, the key is free; where
 * the database was away, as soon as it is back.
 *
 * An answer that is too large is not stored. What was begun is told of by its reference; a refusal of a request that
 * began nothing sets its key free; of any other request the key says that it was done, and it is not done again (409).
 */
export default fp<{ keys: Keys }>(async function idempotency (app, { keys: secrets }) {
  app.decorateRequest('idempotencyKey', null)
  app.decorateRequest('idempotencyClaim', '')
  app.decorateRequest('begun', null)
  app.decorateRequest('isUndecided', false)
  app.decorateRequest('hasEnded', false)
  app.decorateRequest('noteBegun', async function (this: FastifyRequest, tx: Transaction, reference: string) {
    if (this.idempotencyKey === null) return
    const references = sql`concat_ws(${SEPARATOR}::text, ${keys.reference}, ${reference}::text)`
    await tx.update(keys).set({ reference: references }).where(unanswered(this))
  })

  app.decorateRequest('noteDone', async function (this: FastifyRequest, tx: Executor) {
    if (this.idempotencyKey === null) return
    await tx.update(keys).set({ status: DONE }).where(unanswered(this))
  })

  app.decorate('forgetAnswers', forgetAnswers)

  const later = freedLater()
  const context: Context = { db: app.db, secrets, later }
  // After the last request, before the database closes.
  app.addHook('onClose', () => later.stop())

  app.addHook('onRoute', (route) => {
    if (!route.config?.idempotent) return
    const { findFaults } = route.config
    route.config.findFaults = (fields) => [...findFaults?.(fields) ?? [], ...keyFaults(fields)]
    const take = (request: FastifyRequest, reply: FastifyReply) => takeKey(context, request, reply)
    const keep = (request: FastifyRequest, reply: FastifyReply, payload: unknown) =>
      keepAnswer(context, request, reply, payload)
    route.preHandler = [take, ...[route.preHandler ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), keep]
  })

  app.addJob({
    name: 'idempotency-keys',
    description: 'Elimina le chiavi di idempotenza di più di 24 ore fa',
    cron: '17 * * * *',
    run: async () => { await deleteInBatches(app.db, keys, lt(keys.created_at, sql`now() - interval '24 hours'`)) }
  })

  app.addJob({
    name: 'late-answers',
    description: 'Elimina le risposte, conservate in ritardo, su ciò che nel frattempo è stato eliminato',
    cron: '*/5 * * * *',
    run: () => forgetLateAnswers(app.db)
  })
}, { name: 'idempotency', dependencies: ['database', 'auth', 'jobs', 'json-bodies'] })

interface Context { db: Database, secrets: Keys, later: ReturnType<typeof freedLater> }

/** Takes the key for a request, or answers from an earlier one. */
async function takeKey ({ db, secrets, later }: Context, request: FastifyRequest, reply: FastifyReply) {
  const key = headerKey(request.headers['idempotency-key'])
  if (key === undefined) return
  const principal = request.principal!.id
  // Keyed: a bare hash of a guest's data could be guessed.
  const fingerprint = secrets
    .fingerprint('idempotency', request.method, request.url, request.bodyText)
    .toString('hex')
  const claim = randomUUID()
  const headers = { claim }
  const [taken] = await db.insert(keys).values({ principal, key, fingerprint, headers }).onConflictDoUpdate({
    target: [keys.principal, keys.key],
    set: { fingerprint, status: null, body: null, headers, reference: null, created_at: sql`now()` },
    setWhere: lt(keys.created_at, sql`now() - interval '24 hours'`)
  }).returning({ key: keys.key }).catch((err: unknown) => {
    // The row may be there all the same: the connection was lost before the answer came.
    const row = and(eq(keys.principal, principal), eq(keys.key, key), claimedBy(claim))
    if (mayPass(err)) later.add(() => db.delete(keys).where(row))
    throw err
  })
  if (taken) {
    request.idempotencyKey = key
    request.idempotencyClaim = claim
    return
  }
  const [stored] = await db.select().from(keys).where(and(eq(keys.principal, principal), eq(keys.key, key)))
  if (stored && stored.fingerprint !== fingerprint) throw new ChiaveRiusata()
  if (!stored || (stored.status === null && stored.reference === null)) throw new ChiaveInCorso()
  if (stored.status === null) {
    request.idempotencyKey = key
    request.idempotencyClaim = stored.headers!.claim!
    request.begun = stored.reference!.split(SEPARATOR)
    return
  }
  // Its answer is still on the way, unless it takes longer than any request.
  if (stored.status === DONE && Date.now() - Date.parse(stored.created_at) < WHILE_MS) throw new ChiaveInCorso()
  // Lost, too large, or about something that is gone.
  if (stored.body === null) throw new ChiaveEseguita()
  reply.headers({ ...stored.headers, 'idempotency-replayed': 'true' })
  return reply.code(stored.status).type('application/json; charset=utf-8').serializer(String).send(stored.body)
}

async function keepAnswer (context: Context, request: FastifyRequest, reply: FastifyReply, payload: unknown) {
  if (request.idempotencyKey === null) return payload
  const under = ofKey(request)!
  // Once only: should this hook throw, Fastify calls it again for the answer of the error.
  request.idempotencyKey = null
  const { statusCode: status } = reply
  const body = String(payload)
  const isRefusal = status >= 400
  const isLarge = body.length > (isRefusal ? REFUSAL_MAX : ANSWER_MAX)
  // The caller may try again with the same key after a failure that left nothing behind. A repeated request is answered
  // from the reference of what was begun and has not ended.
  const isFree = request.isUndecided || request.failedTransiently || status >= 500 || (isRefusal && isLarge)
  if (isFree) await setFree(context, request, under, status)
  else await store(context, request, reply, under, isLarge ? null : body)
  return payload
}

/** Sets the key free unless the work was begun or done; of done work the key loses the answer alone. */
async function setFree ({ db, later }: Context, request: FastifyRequest, under: SQL, status: number): Promise<void> {
  const isOver = request.failedTransiently && request.hasEnded
  const nothingDone = and(under, isNull(keys.status), isNull(keys.reference))
  // It may have been set free although the answer was lost, and another request may have taken the key since.
  const ownRow = claimedBy(request.idempotencyClaim)
  const work = async () => {
    await db.delete(keys).where(and(ownRow, isOver ? unkept(under) : nothingDone))
    await db.update(keys).set({ status }).where(and(ownRow, under, eq(keys.status, DONE)))
  }
  await work().catch((err: unknown) => {
    request.log.error({ err }, 'an Idempotency-Key could not be set free')
    if (mayPass(err)) later.add(work)
  })
}

/**
 * Keeps the answer beside the key. When that fails, the answer is given all the same, and the key stays taken: after a
 * 503 the client would have the work done again. Where the database was away, the answer is kept later, within the time
 * in which the job `late-answers` still forgets answers about deleted things (`forgotten-answers.ts`).
 * @param body null: it is too large
 */
async function store (
  { db, later }: Context, request: FastifyRequest, reply: FastifyReply, under: SQL, body: string | null
): Promise<void> {
  const { statusCode: status } = reply
  const headers = Object.fromEntries(
    KEPT_HEADERS.filter((name) => reply.hasHeader(name)).map((name) => [name, String(reply.getHeader(name))])
  )
  // The reference of what was begun answers a repeated request better than a note that it was done.
  const where = body === null ? and(unkept(under), isNull(keys.reference)) : unkept(under)
  const keep = (which = where) => db.update(keys).set({ status, body, headers }).where(which)
  const isYoung = gte(keys.created_at, sql`now() - ${WHILE_MS}::float8 * interval '1 millisecond'`)
  const soon = and(where, claimedBy(request.idempotencyClaim), isYoung)
  await keep().catch((err: unknown) => {
    request.log.error({ err }, 'the answer of an Idempotency-Key could not be kept')
    if (mayPass(err)) later.add(() => keep(soon))
  })
}

/** The rows of a key without an answer. */
function unkept (under: SQL) {
  return and(under, or(isNull(keys.status), eq(keys.status, DONE)))
}

/** The header's value; quoted (a structured-field string, as the draft wants) or bare. */
function headerKey (raw: unknown): string | undefined {
  if (raw === undefined) return undefined
  return typeof raw === 'string' ? raw.replace(/^"(.*)"$/, '$1').trim() : ''
}

const keyFaults: FindFaults = ({ headers }) => {
  const key = headerKey(headers['idempotency-key'])
  if (key === undefined || (key !== '' && key.length <= HEADER_MAX)) return []
  return [{ campo: 'Idempotency-Key', messaggio: `deve avere da 1 a ${HEADER_MAX} caratteri` }]
}

/** The row of the key of a request. */
function ofKey ({ principal, idempotencyKey }: FastifyRequest) {
  return and(eq(keys.principal, principal!.id), eq(keys.key, idempotencyKey!))
}

/** The row that a request has made, as long as no answer is kept in it. */
function claimedBy (claim: string) {
  return sql`${keys.headers} ->> 'claim' = ${claim}`
}

/** The same, as long as the work is not known to be done. */
function unanswered (request: FastifyRequest) {
  return and(ofKey(request), isNull(keys.status))
}
