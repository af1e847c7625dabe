import { once } from 'node:events'
import { connect } from 'node:net'
import fp from 'fastify-plugin'

/** Timeout for name resolution and connection together. */
const WITHIN_MS = 10_000

/** Another server that a setting names. */
export interface Place {
  setting: string
  host: string
  port: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Registers a server that this one will need. If it is unreachable at the start, a warning is logged. */
    addHealthCheck (place: Place): void
  }
}

/**
 * Checks, once the server listens, that the configured servers accept connections. So an operator notices a wrong
 * setting at the start, not at the first mail or sign-in. The check does not delay the start, and sends no data.
 */
export default fp(async function startupHealthCheck (app) {
  const places: Place[] = []

  app.decorate('addHealthCheck', function addHealthCheck (place) {
    places.push(place)
  })

  app.addHook('onListen', async () => { await Promise.all(places.map(look)) })

  async function look (place: Place): Promise<void> {
    const { host, port } = place
    const socket = connect({ host, port })
    try {
      await once(socket, 'connect', { signal: AbortSignal.any([app.shutdownSignal, AbortSignal.timeout(WITHIN_MS)]) })
    } catch (err) {
      if (app.shutdownSignal.aborted) return
      const reason = err instanceof Error && err.name !== 'AbortError' && 'code' in err ? err.code : 'ETIMEDOUT'
      app.log.warn({ ...place, reason }, 'a configured server cannot be reached')
    } finally {
      socket.destroy()
    }
  }
}, { name: 'startup-health-check', dependencies: ['shutdown'] })
