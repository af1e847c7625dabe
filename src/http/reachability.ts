import { once } from 'node:events'
import { connect } from 'node:net'
import fp from 'fastify-plugin'

/** For the names, the connection, all of it. */
const WITHIN_MS = 10_000

/** Where another server is, as a setting says. */
export interface Place {
  setting: string
  host: string
  port: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** A server that will be needed: when it cannot be reached at the start, there is a warning. */
    expectReachable (place: Place): void
  }
}

/**
 * Looks, once the server listens, whether the servers that it will need are there: a wrong setting shows at the start
 * and not at the first mail or sign-in. Nothing waits for it, and nothing is said to those servers.
 */
export default fp(async function reachability (app) {
  const places: Place[] = []

  app.decorate('expectReachable', function expectReachable (place) {
    places.push(place)
  })

  app.addHook('onListen', async () => { await Promise.all(places.map(look)) })

  async function look (place: Place): Promise<void> {
    const { host, port } = place
    const socket = connect({ host, port })
    try {
      await once(socket, 'connect', { signal: AbortSignal.any([app.closing, AbortSignal.timeout(WITHIN_MS)]) })
    } catch (err) {
      if (app.closing.aborted) return
      const reason = err instanceof Error && err.name !== 'AbortError' && 'code' in err ? err.code : 'ETIMEDOUT'
      app.log.warn({ ...place, reason }, 'a server that the settings name cannot be reached')
    } finally {
      socket.destroy()
    }
  }
}, { name: 'reachability', dependencies: ['shutdown'] })
