import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { cutWhenStalled } from '#src/lib/stalled.ts'

/** How long a client may still take to send a body, for which nothing has been done yet, or to read anything. */
const CLIENT_WITHIN_MS = 3000
/** How long an answer that has begun may still take: a long one can be asked for again. */
const ANSWER_WITHIN_MS = 10_000

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborted when the server begins to end. Who waits for a turn then gives up: its request is to be answered. */
    closing: AbortSignal
    /** True from the moment that the process is asked to end. It may go on working for a while. */
    isDraining (): boolean
    /**
     * Comes before `close`. For `DRAIN_SECONDS` everything is served as ever; then no further connection is taken, and
     * those that there are end with their next answer or are closed by the client, for as long again at most.
     */
    drain (): Promise<void>
    /** Whoever asks for the end once more does not want to wait. */
    endDraining (): void
  }
}

/**
 * The end of the server: requests under way are finished, later ones are refused, and then every connection is dropped.
 * Node alone would wait for connections on which a client has sent nothing or half a request.
 */
export default fp<{ config: Config }>(async function shutdown (app, { config }) {
  const unfinished = new Set<ServerResponse>()
  const end = new AbortController()

  // One function for all responses: this runs for every request.
  function forget (this: ServerResponse): void {
    unfinished.delete(this)
  }

  app.decorate('closing', end.signal)
  const isLeaving = addDraining(app, config)

  app.addHook('onRequest', function refuseOrCount (_request, { raw }, done) {
    if (end.signal.aborted) return done(new ServizioOccupato())
    unfinished.add(raw)
    raw.on('close', forget)
    done()
  })

  app.addHook('onSend', function closeConnection (_request, reply, payload, done) {
    if (end.signal.aborted || isLeaving()) reply.header('connection', 'close')
    done(null, payload)
  })

  app.addHook('preClose', async () => {
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
}, { name: 'shutdown' })

/**
 * Lets a proxy leave without losing a request. What it sends over a connection that the server closes at that moment is
 * lost, and it may not send a POST twice. So the server closes none that a proxy holds in store: the proxy's own limit
 * must be shorter than `DRAIN_SECONDS`. And connections are kept until listening ends: the system resets those that
 * nobody has taken by then, and a proxy that had to make one for each request would always have some on the way.
 * @returns whether connections are to be closed with their next answer
 */
function addDraining (app: FastifyInstance, { DRAIN_SECONDS }: Config): () => boolean {
  let asked = false
  let leaving = false
  const hurry = new AbortController()
  app.closing.addEventListener('abort', () => hurry.abort())
  app.decorate('endDraining', () => hurry.abort())
  app.decorate('isDraining', () => asked)
  app.decorate('drain', async () => {
    if (DRAIN_SECONDS === 0 || asked) return
    asked = true
    const wait = () => sleep(DRAIN_SECONDS * 1000, undefined, { signal: hurry.signal }).catch(() => {})
    await wait()
    if (hurry.signal.aborted) return
    const gone = once(app.server, 'close')
    // Listening alone: the method of HTTP servers would close the connections that are not in use, too.
    Server.prototype.close.call(app.server)
    leaving = true
    await Promise.race([gone, wait()])
    hurry.abort()
  })
  return () => leaving
}
