import { finished, Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Event, EventResponse, EventQuery } from '#schemas/event.ts'
import type { Config } from '#src/config/config.ts'
import { prefers } from '#src/lib/accept-headers.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'
import { STALLED_AFTER_MS } from '#src/http/streams.ts'
import { countEvents, endOfEvents, reachedBy, readCursor, readEvents } from './event-list.ts'
import { eventFeed, deleteOldEvents, orderEvents } from './feed.ts'
import { frames, openStreams } from './stream.ts'
import webhooks, { type WebhookTimes } from './webhooks/plugin.ts'

const URL = '/api/v1/eventi'
/** Maximum open streams in this process. A browser opens at most six connections to a host. */
const STREAMS = { total: 1000, perCaller: 6, waiting: 0 }
const HEARTBEAT_MS = 15_000

/** Shorter times for tests. */
export interface EventTimes extends Partial<WebhookTimes> {
  /** Milliseconds of silence before a heartbeat. */
  heartbeatMs?: number | undefined
  /** Milliseconds without progress after which a client that does not read is disconnected. */
  stalledReaderMs?: number | undefined
}

interface EventsOptions { config: Config, keys: Keys, times?: EventTimes | undefined }

type EventRequest = FastifyRequest<{ Querystring: EventQuery }>

const eventsRoute = {
  config: { access: 'auth', headers: { reads: ['Last-Event-ID'] } },
  schema: {
    operationId: 'listEventi',
    errorCodes: ['CURSORE_SCADUTO'],
    tags: ['Eventi'],
    summary: 'Che cosa è successo negli ultimi 30 giorni, dal più vecchio, a pagine o via via che succede',
    description:
      'Il cursor di una pagina, come quello di ogni evento, dice fin dove si è letto: con esso si leggono tutti gli ' +
      'eventi successivi. Quello della pagina salta gli eventi che i filtri escludono. Con Accept: ' +
      'text/event-stream la risposta è un flusso che comincia dopo Last-Event-ID, dopo cursor, o adesso. Il flusso ' +
      'salta gli eventi esclusi con un id senza dati. Finisce quando le credenziali cambiano o scadono, e dopo 15 ' +
      'minuti. Ogni chiamante ha al più sei flussi insieme. ' +
      '410 CURSORE_SCADUTO: qualche evento può essere andato perso.',
    querystring: EventQuery,
    response: { 200: EventResponse }
  }
} as const

/**
 * Events, which database triggers write in the transaction of the change. Clients read pages or follow a stream, and
 * webhooks receive deliveries.
 */
const events: FastifyPluginAsyncTypebox<EventsOptions> = async (app, { config, keys, times = {} }) => {
  const { heartbeatMs = HEARTBEAT_MS, stalledReaderMs = STALLED_AFTER_MS, ...webhookTimes } = times
  const { db, notifications, log } = app
  const feed = eventFeed({ db, notifications, log, isReported: app.isDiskFullReported })
  app.addHook('preClose', () => feed.close())
  app.addJob({
    name: 'old-events',
    description: 'Elimina gli eventi di più di 30 giorni fa, con le loro consegne; non quelli ancora da consegnare',
    cron: '23 * * * *',
    run: async () => {
      // Without readers and webhooks only this job assigns positions.
      await orderEvents(db)
      await deleteOldEvents(db)
    }
  })
  const acquireSlot = limitConcurrencyByCaller(STREAMS)
  const streams = openStreams(notifications)
  app.addSchema(Event)

  app.get(URL, eventsRoute, (request, reply) => {
    reply.header('vary', 'Accept')
    return prefers(request.headers.accept, 'text/event-stream', 'application/json')
      ? onStream(request, reply)
      : onPage(request, reply)
  })
  await app.register(webhooks, { feed, config, keys, times: webhookTimes })

  async function onPage (request: EventRequest, reply: FastifyReply) {
    const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, ...wanted } = request.query
    const filters = { ...wanted, all: request.principal!.admin }
    const position = cursor === undefined ? undefined : readCursor('cursor', cursor)
    await feed.order()
    const after = position ? (await reachedBy(db, position)).position : undefined
    const { events: data, hasMore, reached } = await readEvents(db, filters, after, limit)
    if (conteggio) reply.header('x-total-count', await countEvents(db, filters))
    if (hasMore) reply.header('link', nextLink(URL, request.query, reached.cursor))
    return reply.type('application/json; charset=utf-8').send({ data, cursor: reached.cursor })
  }

  async function onStream (request: EventRequest, reply: FastifyReply) {
    const { cursor, tipo, prenotazione_id } = request.query
    const header = request.headers['last-event-id']
    // An EventSource reconnects with the same URL. The header contains the newer cursor, so it takes precedence.
    const position = typeof header === 'string' && header !== ''
      ? readCursor('Last-Event-ID', header)
      : cursor === undefined ? undefined : readCursor('cursor', cursor)
    const release = await acquireSlot(request)
    const gone = new AbortController()
    const { signal, forget } = streams.signalFor(request, reply, [app.shutdownSignal, gone.signal])
    finished(reply.raw, () => {
      gone.abort()
      release()
      forget()
    })
    await feed.ready()
    await feed.order()
    const from = position ? await reachedBy(db, position) : await endOfEvents(db)
    const filters = { tipo, prenotazione_id, all: request.principal!.admin }
    // The abort signal has no effect while the stream waits for a client that does not read.
    destroyWhenStalled(reply.raw, stalledReaderMs)
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no')
      .send(Readable.from(frames({ db, feed, filters, from, signal, heartbeatMs }), { objectMode: false }))
  }
}
export default events
