import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import fp from 'fastify-plugin'
import { cutWhenStalled } from '#src/lib/stalled.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'

/** How long a client may still take to send a body, for which nothing has been done yet, or to read anything. */
const CLIENT_WITHIN_MS = 3000
/** How long an answer that has begun may still take: a long one can be asked for again. */
const ANSWER_WITHIN_MS = 10_000

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborted when the server begins to end. Who waits for a turn then gives up: its request is to be answered. */
    closing: AbortSignal
  }
}

/**
 * The end of the server: requests under way are finished, later ones are refused, and then every connection is dropped.
 * Node alone would wait for connections on which a client has sent nothing or half a request.
 */
export default fp(async function closing (app) {
  const unfinished = new Set<ServerResponse>()
  const end = new AbortController()
  let refusing = false

  // One function for all responses: this runs for every request.
  function forget (this: ServerResponse): void {
    unfinished.delete(this)
  }

  app.decorate('closing', end.signal)

  app.addHook('onRequest', function refuseOrCount (_request, { raw }, done) {
    if (refusing) return done(new ServizioOccupato())
    unfinished.add(raw)
    raw.on('close', forget)
    done()
  })

  app.addHook('onSend', function closeConnection (_request, reply, payload, done) {
    if (refusing) reply.header('connection', 'close')
    done(null, payload)
  })

  app.addHook('preClose', async () => {
    refusing = true
    end.abort()
    app.server.close()
    for (const response of unfinished) cutWhenStalled(response, CLIENT_WITHIN_MS)
    const deadlines = [
      setTimeout(() => {
        for (const { req } of [...unfinished]) if (!req.complete) req.destroy()
      }, CLIENT_WITHIN_MS),
      setTimeout(() => {
        for (const response of [...unfinished]) if (response.headersSent) response.destroy()
      }, ANSWER_WITHIN_MS)
    ]
    await Promise.all([...unfinished].map((response) => once(response, 'close')))
    deadlines.forEach(clearTimeout)
    app.server.closeAllConnections()
  })
}, { name: 'closing' })
