import { once } from 'node:events'
import { connect } from 'node:net'
import fp from 'fastify-plugin'

/** Timeout for name resolution and connection together. */
const WITHIN_MS = 10_000

/** A server whose host and port are in a setting. */
export interface ConfiguredServer {
  setting: string
  host: string
  port: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Registers a server that this one will need. If it is unreachable at the start, a warning is logged. */
    addHealthCheck (server: ConfiguredServer): void
  }
}

/**
 * Checks, once the server listens, that the configured servers accept connections. So an operator notices a wrong
 * setting at the start, not at the first mail or sign-in. The check does not delay the start, and sends no data.
 */
export default fp(async function startupHealthCheck (app) {
  const servers: ConfiguredServer[] = []

  app.decorate('addHealthCheck', function addHealthCheck (server) {
    servers.push(server)
  })

  app.addHook('onListen', async () => { await Promise.all(servers.map(check)) })

  async function check (server: ConfiguredServer): Promise<void> {
    const { host, port } = server
    const socket = connect({ host, port })
    try {
      await once(socket, 'connect', { signal: AbortSignal.any([app.shutdownSignal, AbortSignal.timeout(WITHIN_MS)]) })
    } catch (err) {
      if (app.shutdownSignal.aborted) return
      const reason = err instanceof Error && err.name !== 'AbortError' && 'code' in err ? err.code : 'ETIMEDOUT'
      app.log.warn({ ...server, reason }, 'a configured server cannot be reached')
    } finally {
      socket.destroy()
    }
  }
}, { name: 'startup-health-check', dependencies: ['shutdown'] })
