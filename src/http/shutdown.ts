import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'

/** Maximum time for a client to send a body before any work starts, and to read each part of a response. */
const CLIENT_WITHIN_MS = 3000
/** Maximum time for a response that has started. The client can request a long response again. */
const RESPOND_WITHIN_MS = 10_000

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborts when shutdown begins. Requests that wait for a slot then stop waiting, so that they get a response. */
    shutdownSignal: AbortSignal
    /** True from `beginShutdown` on, although requests are still served. Always false when `DRAIN_SECONDS` is 0. */
    isShuttingDown (): boolean
    /**
     * Runs before `close`. For `DRAIN_SECONDS` the server works as usual. Then it accepts no new connections. Existing
     * ones close after their next response, when the client closes them, or `DRAIN_SECONDS` later.
     */
    beginShutdown (): Promise<void>
    /** Ends the delay of `DRAIN_SECONDS` at once, after a second signal to the process. */
    endShutdown (): void
  }
}

/**
 * Graceful shutdown: requests in progress finish, later ones are rejected, and then every connection is closed. Node
 * itself would wait for connections on which a client has sent no request, or only part of one.
 */
export default fp<{ config: Config }>(async function shutdown (app, { config }) {
  // An array instead of a Set. V8 links each hash table of a growing Set to its successor, so responses in earlier
  // tables stay in memory until a full garbage collection.
  const unfinished: ServerResponse[] = []
  const end = new AbortController()

  // One function for all responses, because a function per request would cost time.
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
 * Lets a proxy switch to another server without losing a request. A request sent while the server closes its connection
 * is lost, and the proxy may not retry a POST. So the server closes no idle connection, and the proxy's idle timeout
 * must be shorter than `DRAIN_SECONDS`. Connections stay open until listening ends, because the kernel then resets
 * connections that are not accepted yet. A proxy would open such ones if the server closed the old ones earlier.
 * @returns whether to close connections after their next response
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
    // Stops listening only. The `close` of an HTTP server would also close idle connections.
    Server.prototype.close.call(app.server)
    leaving = true
    await Promise.race([gone, wait()])
    hurry.abort()
  })
  return () => leaving
}
