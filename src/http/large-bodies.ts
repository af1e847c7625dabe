import { finished } from 'node:stream'
import fp from 'fastify-plugin'
import { limitCallers } from '#src/lib/turns.ts'

/** Bytes from which a body is a large one. Where no credentials are asked for, none is taken. */
const LARGE = 32 * 1024
/**
 * Large bodies, or such as do not say their size, that are received at a time, from all callers with credentials and
 * from one, and as many from those without.
 */
const TURNS = { total: 64, perCaller: 16 }
/** Bytes of bodies that are held until the answer, of all callers and of one. They take thrice the memory meanwhile. */
const HELD = { total: 96 * 1024 * 1024, perCaller: 64 * 1024 * 1024 }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is large, as a file is, and is held in memory until the request is answered. */
    holdsBody?: boolean
  }
}

/**
 * Bodies are held in memory until their last byte has come, and a caller may take its time with that: so few large ones
 * are received at a time that their sum is bounded.
 */
export default fp(async function largeBodies (app) {
  const takeTurn = limitCallers(TURNS)
  const takeBytes = limitCallers(HELD)

  app.addHook('onRoute', (route) => {
    if (route.config?.access === 'public') route.bodyLimit ??= LARGE
  })

  app.addHook('preParsing', function receive (request, reply, payload, done) {
    const { headers, routeOptions } = request
    const length = Number(headers['content-length'])
    const isLarge = length > LARGE || headers['transfer-encoding'] !== undefined
    if (!isLarge) return done(null, payload)
    try {
      if (routeOptions.config.holdsBody) {
        const most = routeOptions.bodyLimit
        finished(reply.raw, takeBytes(request, length < most ? length : most))
      } else {
        const giveBack = takeTurn(request)
        finished(payload, giveBack)
        // Where the answer comes before the body's end, nothing reads on: the payload alone would never end.
        finished(reply.raw, giveBack)
      }
    } catch (err) {
      return done(err as Error)
    }
    done(null, payload)
  })
}, { name: 'large-bodies', dependencies: ['guards'] })
