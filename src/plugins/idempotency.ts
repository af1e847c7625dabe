import { and, eq, isNull, lt, sql } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import createError from '@fastify/error'
import fp from 'fastify-plugin'
import { idempotency_keys as keys } from '#drizzle/tables/idempotency.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'

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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route honours `Idempotency-Key`. */
    idempotent?: boolean
  }
  interface FastifyRequest {
    /** The key under which this request's answer will be kept. */
    idempotencyKey: string | null
  }
}

const HEADER_MAX = 255

/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): the same key and body within 24 hours gives the stored
 * answer, another body 422, a first request still at work 409. The key is stored before the handler runs. When a
 * process dies half-way, the key stays taken: it is not known whether the work was done, and doing it twice is
 * the greater harm.
 */
export default fp<{ keys: Keys }>(async function idempotency (app, { keys: secrets }) {
  app.decorateRequest('idempotencyKey', null)

  app.addHook('onRoute', (route) => {
    if (!route.config?.idempotent) return
    route.preHandler = [takeKey, ...[route.preHandler ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), keepAnswer]
  })

  app.addJob({
    name: 'idempotency-keys',
    description: 'Elimina le chiavi di idempotenza di più di 24 ore fa',
    cron: '17 * * * *',
    run: async () => { await app.db.delete(keys).where(lt(keys.created_at, sql`now() - interval '24 hours'`)) }
  })

  async function takeKey (request: FastifyRequest, reply: FastifyReply) {
    const key = headerKey(request)
    if (key === undefined) return
    const principal = request.principal!.id
    // Keyed: a bare hash of a guest's data could be guessed.
    const fingerprint = secrets
      .fingerprint('idempotency', request.method, request.url, JSON.stringify(request.body))
      .toString('hex')
    const [taken] = await app.db.insert(keys).values({ principal, key, fingerprint }).onConflictDoUpdate({
      target: [keys.principal, keys.key],
      set: { fingerprint, status: null, body: null, created_at: sql`now()` },
      setWhere: lt(keys.created_at, sql`now() - interval '24 hours'`)
    }).returning({ key: keys.key })
    if (taken) {
      request.idempotencyKey = key
      return
    }
    const [stored] = await app.db.select().from(keys).where(and(eq(keys.principal, principal), eq(keys.key, key)))
    if (stored && stored.fingerprint !== fingerprint) throw new ChiaveRiusata()
    if (!stored || stored.status === null) throw new ChiaveInCorso()
    reply.header('idempotency-replayed', 'true')
    return reply.code(stored.status).type('application/json; charset=utf-8').serializer(String).send(stored.body)
  }

  async function keepAnswer (request: FastifyRequest, reply: FastifyReply, payload: unknown) {
    const key = request.idempotencyKey
    if (key === null) return payload
    const mine = and(eq(keys.principal, request.principal!.id), eq(keys.key, key), isNull(keys.status))
    // A failure that left nothing behind: the caller may try again with the same key.
    if (reply.statusCode >= 500 || request.failedTransiently) await app.db.delete(keys).where(mine)
    else await app.db.update(keys).set({ status: reply.statusCode, body: String(payload) }).where(mine)
    return payload
  }
}, { name: 'idempotency', dependencies: ['database', 'auth', 'jobs'] })

/** The header's value; quoted (a structured-field string, as the draft wants) or bare. */
function headerKey (request: FastifyRequest): string | undefined {
  const raw = request.headers['idempotency-key']
  if (raw === undefined) return undefined
  const key = typeof raw === 'string' ? raw.replace(/^"(.*)"$/, '$1').trim() : ''
  if (key === '' || key.length > HEADER_MAX) {
    throw new CampiNonValidi({ campo: 'Idempotency-Key', messaggio: `deve avere da 1 a ${HEADER_MAX} caratteri` })
  }
  return key
}
