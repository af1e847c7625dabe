import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'

/** Time a client still has to send a body, before any work starts, and to read each part of a response. */
const CLIENT_WITHIN_MS = 3000
/** Time a started response still has. The client can request a long one again. */
const RESPOND_WITHIN_MS = 10_000

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborted when shutdown begins. Requests that wait for their turn then give up, so that they can be answered. */
    shutdownSignal: AbortSignal
    /** True once the process is asked to stop. It may still serve for a while. */
    isShuttingDown (): boolean
    /**
     * Called before `close`. For `DRAIN_SECONDS` the server works as usual. Then it accepts no new connections, and
     * existing ones close with their next response or by the client, at most `DRAIN_SECONDS` later.
     */
    beginShutdown (): Promise<void>
    /** Ends draining at once, when the process gets a second signal. */
    endShutdown (): void
  }
}

/**
 * Graceful shutdown: requests in progress finish, later ones are rejected, and then every connection is closed. Node
 * alone would wait for connections on which a client has sent nothing or half a request.
 */
export default fp<{ config: Config }>(async function shutdown (app, { config }) {
  // An array, because V8 links each hash table of a growing Set to its successor: an old Set keeps the responses of
  // earlier tables alive until a full garbage collection.
  const unfinished: ServerResponse[] = []
  const end = new AbortController()

  // One shared function for all responses, because this runs on every request.
  function forget (this: ServerResponse): void {
    const last = unfinished.pop()
    if (last !== undefined && last !== this) unfinished[unfinished.indexOf(this)] = last
  }

  app.decorate('shutdownSignal', end.signal)
  const isLeaving = addShutdownDelay(app, config)

  app.addHook('onRequest', function refuseOrCount (_request, { raw }, done) {
    if (end.signal.aborted) return done(new ServizioOccupato())
    unfinished.push(raw)
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
    for (const response of unfinished) destroyWhenStalled(response, CLIENT_WITHIN_MS)
    const deadlines = [
      setTimeout(() => {
        for (const { req } of [...unfinished]) if (!req.complete) req.destroy()
      }, CLIENT_WITHIN_MS),
      setTimeout(() => {
        for (const response of [...unfinished]) if (response.headersSent) response.destroy()
      }, RESPOND_WITHIN_MS)
    ]
    await Promise.all(unfinished.map((response) => once(response, 'close')))
    deadlines.forEach(clearTimeout)
    app.server.closeAllConnections()
  })
}, { name: 'shutdown' })

/**
 * Lets a proxy switch away without losing a request. A request sent while the server closes its connection is lost, and
 * the proxy may not retry a POST. The server therefore closes no idle connection: the proxy's idle timeout must be
 * shorter than `DRAIN_SECONDS`. Connections stay open until listening ends, because the kernel resets those not yet
 * accepted. A proxy without kept connections would always have some in that state.
 * @returns whether to close connections with their next response
 */
function addShutdownDelay (app: FastifyInstance, { DRAIN_SECONDS }: Config): () => boolean {
  let asked = false
  let leaving = false
  const hurry = new AbortController()
  app.shutdownSignal.addEventListener('abort', () => hurry.abort())
  app.decorate('endShutdown', () => hurry.abort())
  app.decorate('isShuttingDown', () => asked)
  app.decorate('beginShutdown', async () => {
    if (DRAIN_SECONDS === 0 || asked) return
    asked = true
    const wait = () => sleep(DRAIN_SECONDS * 1000, undefined, { signal: hurry.signal }).catch(() => {})
    await wait()
    if (hurry.signal.aborted) return
    const gone = once(app.server, 'close')
    // Stops listening only. `close` of HTTP servers would also close idle connections.
    Server.prototype.close.call(app.server)
    leaving = true
    await Promise.race([gone, wait()])
    hurry.abort()
  })
  return () => leaving
}
