import { randomUUID } from 'node:crypto'
import { and, eq, gte, isNull, lt, or, sql, type SQL, type WithSubquery } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import createError from '@fastify/error'
import fp from 'fastify-plugin'
import { idempotency_keys as keys } from '#drizzle/tables/idempotency.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { isTransient } from '#src/database/problems.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import type { FindValidationErrors } from '../validation-errors.ts'
import { keyWriteRetries } from './key-write-retries.ts'
import { eraseResponses, eraseLateResponses, type EraseResponses } from './erased-responses.ts'

const ChiaveRiusata = createError(
  'IDEMPOTENCY_KEY_RIUSATA',
  'Idempotency-Key già usata con una richiesta diversa',
  422
)
const ChiaveInCorso = createError(
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
    eraseResponses: EraseResponses
  }
  interface FastifyContextConfig {
    /** Whether the route accepts `Idempotency-Key`. */
    idempotent?: boolean
  }
  interface FastifyRequest {
    /** The key under which the response of this request is stored. */
    idempotencyKey: string | null
    /** Distinguishes this row from a later row of the same key. */
    idempotencyClaim: string
    /**
     * References of the work that an earlier request with this key has started, when no response is stored. A route
     * that calls `recordInProgress` must build its response from them, and start no work.
     */
    startedWork: readonly string[] | null
    /**
     * Whether the response is not final, and therefore not stored. A retry is answered from the started work. If no
     * work was started, the key is released.
     */
    isUndecided: boolean
    /** Whether the work started under the key has ended. If it failed transiently, the key is released. */
    hasEnded: boolean
    /**
     * Stores with the key a reference to the work that this request starts. Call it in the transaction that starts the
     * work, once for each part. A reference contains no spaces. Has no effect without a key.
     */
    recordInProgress (tx: Transaction, reference: string): Promise<void>
    /**
     * Marks the work of this request as done, in the transaction that does it. If the response is lost or becomes a
     * 5xx, a retry gets ChiaveEseguita. Idempotent work and work noted with `recordInProgress` do not need it. Has no
     * effect without a key.
     */
    noteDone (tx: Executor): Promise<void>
    /** The write of `noteDone` as a common table expression, for a single statement. Undefined without a key. */
    doneNote (): DoneNote | undefined
  }
}

/** A common table expression, and the values of its placeholders. */
export interface DoneNote { note: WithSubquery, values: Readonly<Record<string, string>> }

/** Headers stored with a response. */
const KEPT_HEADERS = ['etag', 'location'] as const

const HEADER_MAX = 255

/** Maximum length of a stored response, in characters. */
const RESPONSE_MAX = 65_536
/** Maximum length of a stored refusal, in characters. Clients can cause refusals cheaply under thousands of keys. */
const REFUSAL_MAX = 4096

/** Status of a key whose work is done and whose response is not stored yet. */
const DONE = 0
/** Longer than any request takes. */
const REQUEST_MAX_MS = 5 * 60_000

/** Separates the references of one key. */
const SEPARATOR = ' '

/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). Within 24 hours the same key and body return the
 * stored response. Another body is answered with 422. A retry while the first request runs is answered with 409. The
 * key is stored before the handler runs. If the process crashes meanwhile, the key stays taken, because executing the
 * work twice is worse. A route can record the work that it starts, and answers a retry from this record. A route that
 * records its work as done is not executed again. After any other 5xx the key is released, at the latest when the
 * database is available again.
 *
 * A response that is too large is not stored. Then a retry is answered from the reference to started work, if one is
 * stored, and otherwise with 409 (done). A refusal that is too large releases the key if the request started no work.
 */
export default fp<{ keys: Keys }>(async function idempotency (app, { keys: secrets }) {
  app.decorateRequest('idempotencyKey', null)
  app.decorateRequest('idempotencyClaim', '')
  app.decorateRequest('startedWork', null)
  app.decorateRequest('isUndecided', false)
  app.decorateRequest('hasEnded', false)
  app.decorateRequest('recordInProgress', async function (this: FastifyRequest, tx: Transaction, reference: string) {
    if (this.idempotencyKey === null) return
    const references = sql`concat_ws(${SEPARATOR}::text, ${keys.reference}, ${reference}::text)`
    await tx.update(keys).set({ reference: references }).where(unanswered(this))
  })

  app.decorateRequest('noteDone', async function (this: FastifyRequest, tx: Executor) {
    if (this.idempotencyKey === null) return
    await tx.update(keys).set({ status: DONE }).where(unanswered(this))
  })

  const [principal, key] = [sql.placeholder('notePrincipal'), sql.placeholder('noteKey')]
  const note = app.db.$with('note').as(app.db.update(keys).set({ status: DONE })
    .where(and(eq(keys.principal, principal), eq(keys.key, key), isNull(keys.status)))
    .returning({ key: keys.key }))
  app.decorateRequest('doneNote', function (this: FastifyRequest) {
    if (this.idempotencyKey === null) return undefined
    return { note, values: { notePrincipal: this.principal!.id, noteKey: this.idempotencyKey } }
  })

  app.decorate('eraseResponses', eraseResponses)

  const later = keyWriteRetries()
  const context: Context = { db: app.db, secrets, later }
  // Runs after the last request and before the database closes.
  app.addHook('onClose', () => later.stop())

  app.addHook('onRoute', (route) => {
    if (!route.config?.idempotent) return
    const { findValidationErrors } = route.config
    route.config.findValidationErrors = (fields) => [...findValidationErrors?.(fields) ?? [], ...keyErrors(fields)]
    const take = (request: FastifyRequest, reply: FastifyReply) => takeKey(context, request, reply)
    const keep = (request: FastifyRequest, reply: FastifyReply, payload: unknown) =>
      keepResponse(context, request, reply, payload)
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
    run: () => eraseLateResponses(app.db)
  })
}, { name: 'idempotency', dependencies: ['database', 'auth', 'jobs', 'json-bodies'] })

interface Context { db: Database, secrets: Keys, later: ReturnType<typeof keyWriteRetries> }

/** Takes the key for a request, or responds from an earlier request. */
async function takeKey ({ db, secrets, later }: Context, request: FastifyRequest, reply: FastifyReply) {
  const key = headerKey(request.headers['idempotency-key'])
  if (key === undefined) return
  const principal = request.principal!.id
  // A keyed hash, because with a plain hash a reader could guess guests' data.
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
    // If the connection was lost before PostgreSQL's reply, the row may exist.
    const row = and(eq(keys.principal, principal), eq(keys.key, key), claimedBy(claim))
    if (isTransient(err)) later.add(() => db.delete(keys).where(row))
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
    request.startedWork = stored.reference!.split(SEPARATOR)
    return
  }
  // The first request may still store its response, unless the key is older than the longest request.
  if (stored.status === DONE && Date.now() - Date.parse(stored.created_at) < REQUEST_MAX_MS) throw new ChiaveInCorso()
  // The response was lost or too large, or it was about a deleted resource.
  if (stored.body === null) throw new ChiaveEseguita()
  reply.headers({ ...stored.headers, 'idempotency-replayed': 'true' })
  return reply.code(stored.status).type('application/json; charset=utf-8').serializer(String).send(stored.body)
}

async function keepResponse (context: Context, request: FastifyRequest, reply: FastifyReply, payload: unknown) {
  if (request.idempotencyKey === null) return payload
  const under = ofKey(request)!
  // Clear the key, because Fastify calls this hook again for the error response if it throws.
  request.idempotencyKey = null
  const { statusCode: status } = reply
  const body = String(payload)
  const isRefusal = status >= 400
  const isLarge = body.length > (isRefusal ? REFUSAL_MAX : RESPONSE_MAX)
  // A client may retry with the same key after a failure that changed nothing. If the work was started and is not
  // finished, the retry is answered from the reference.
  const isFree = request.isUndecided || request.failedTransiently || status >= 500 || (isRefusal && isLarge)
  if (isFree) await releaseKey(context, request, under, status)
  else await store(context, request, reply, under, isLarge ? null : body)
  return payload
}

/**
 * Releases the key, unless the work was started and has not ended in a transient failure, or was done. A key of done
 * work keeps its row, without a response.
 */
async function releaseKey ({ db, later }: Context, request: FastifyRequest, under: SQL, status: number): Promise<void> {
  const isOver = request.failedTransiently && request.hasEnded
  const nothingDone = and(under, isNull(keys.status), isNull(keys.reference))
  // The key may have been released although the reply was lost. Then another request may have taken it.
  const ownRow = claimedBy(request.idempotencyClaim)
  const work = async () => {
    await db.delete(keys).where(and(ownRow, isOver ? unkept(under) : nothingDone))
    await db.update(keys).set({ status }).where(and(ownRow, under, eq(keys.status, DONE)))
  }
  await work().catch((err: unknown) => {
    request.log.error({ err }, 'an Idempotency-Key could not be released')
    if (isTransient(err)) later.add(work)
  })
}

/**
 * Stores the response with the key. If storing fails, the response is still sent and the key stays taken, because after
 * a 503 the client would repeat the work. If the database was unavailable, the response is stored later. The job
 * `late-answers` can still erase it if it is about a deleted resource (`erased-responses.ts`).
 * @param body null when it is too large
 */
async function store (
  { db, later }: Context, request: FastifyRequest, reply: FastifyReply, under: SQL, body: string | null
): Promise<void> {
  const { statusCode: status } = reply
  const headers = Object.fromEntries(
    KEPT_HEADERS.filter((name) => reply.hasHeader(name)).map((name) => [name, String(reply.getHeader(name))])
  )
  // For a retry, the reference to started work is more useful than the mark that the work is done.
  const where = body === null ? and(unkept(under), isNull(keys.reference)) : unkept(under)
  const keep = (which = where) => db.update(keys).set({ status, body, headers }).where(which)
  const isYoung = gte(keys.created_at, sql`now() - ${REQUEST_MAX_MS}::float8 * interval '1 millisecond'`)
  const soon = and(where, claimedBy(request.idempotencyClaim), isYoung)
  await keep().catch((err: unknown) => {
    request.log.error({ err }, 'the response of an Idempotency-Key could not be stored')
    if (isTransient(err)) later.add(() => keep(soon))
  })
}

/** Condition: no response is stored under the key. */
function unkept (under: SQL) {
  return and(under, or(isNull(keys.status), eq(keys.status, DONE)))
}

/** The header's value: a quoted structured-field string, as in the draft, or a bare string. */
function headerKey (raw: unknown): string | undefined {
  if (raw === undefined) return undefined
  return typeof raw === 'string' ? raw.replace(/^"(.*)"$/, '$1').trim() : ''
}

const keyErrors: FindValidationErrors = ({ headers }) => {
  const key = headerKey(headers['idempotency-key'])
  if (key === undefined || (key !== '' && key.length <= HEADER_MAX)) return []
  return [{ campo: 'Idempotency-Key', messaggio: `deve avere da 1 a ${HEADER_MAX} caratteri` }]
}

/** Condition: the row of the request's key. */
function ofKey ({ principal, idempotencyKey }: FastifyRequest) {
  return and(eq(keys.principal, principal!.id), eq(keys.key, idempotencyKey!))
}

/** Condition: the row that this request inserted. True until a response is stored. */
function claimedBy (claim: string) {
  return sql`${keys.headers} ->> 'claim' = ${claim}`
}

/** Condition: the row of the request's key, unless its work is marked as done. */
function unanswered (request: FastifyRequest) {
  return and(ofKey(request), isNull(keys.status))
}
