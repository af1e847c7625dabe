import { finished } from 'node:stream'
import fp from 'fastify-plugin'
import { limitTurns } from '#src/lib/turns.ts'

/** Bytes from which a body is a large one. Where no credentials are asked for, none is taken. */
const LARGE = 32 * 1024
/** Large bodies, or such as do not say their size, that are received at a time, from all callers and from one. */
const TURNS = { total: 64, perCaller: 16 }

/**
 * Bodies are held in memory until their last byte has come, and a caller may take its time with that: so few large ones
 * are received at a time that their sum is bounded.
 */
export default fp(async function largeBodies (app) {
  const takeTurn = limitTurns(TURNS)

  app.addHook('onRoute', (route) => {
    if (route.config?.access === 'public') route.bodyLimit ??= LARGE
  })

  app.addHook('preParsing', function receive ({ headers, principal, ip }, _reply, payload, done) {
    const isLarge = Number(headers['content-length']) > LARGE || headers['transfer-encoding'] !== undefined
    if (!isLarge) return done(null, payload)
    try {
      finished(payload, takeTurn(principal?.id ?? ip))
    } catch (err) {
      return done(err as Error)
    }
    done(null, payload)
  })
}, { name: 'large-bodies', dependencies: ['guards'] })
