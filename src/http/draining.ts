import { once } from 'node:events'
import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'

declare module 'fastify' {
  interface FastifyInstance {
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
 * Lets a proxy leave without losing a request. What it sends over a connection that the server closes at that moment is
 * lost, and it may not send a POST twice. So the server closes none that a proxy holds in store: the proxy's own limit
 * must be shorter than `DRAIN_SECONDS`. And connections are kept until listening ends: the system resets those that
 * nobody has taken by then, and a proxy that had to make one for each request would always have some on the way.
 */
export default fp<{ config: Config }>(async function draining (app, { config }) {
  let asked = false
  let leaving = false
  const hurry = new AbortController()
  app.closing.addEventListener('abort', () => hurry.abort())

  app.addHook('onSend', function askToClose (_request, reply, payload, done) {
    if (leaving) reply.header('connection', 'close')
    done(null, payload)
  })

  app.decorate('endDraining', () => hurry.abort())
  app.decorate('isDraining', () => asked)
  app.decorate('drain', async () => {
    if (config.DRAIN_SECONDS === 0 || asked) return
    asked = true
    const wait = (ms: number) => sleep(ms, undefined, { signal: hurry.signal }).catch(() => {})
    await wait(config.DRAIN_SECONDS * 1000)
    if (hurry.signal.aborted) return
    const gone = once(app.server, 'close')
    // Listening alone: the method of HTTP servers would close the connections that are not in use, too.
    Server.prototype.close.call(app.server)
    leaving = true
    await Promise.race([gone, wait(config.DRAIN_SECONDS * 1000)])
    hurry.abort()
  })
}, { name: 'draining', dependencies: ['closing'] })
