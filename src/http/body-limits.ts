import { finished } from 'node:stream'
import fp from 'fastify-plugin'
import { destroyWhenBodyStalls } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'

/** Bytes above which a body counts as large. This is also the default limit of public routes. */
const LARGE = 32 * 1024
/**
 * Concurrent uploads of large bodies and of bodies without `Content-Length`, in total and per caller. Callers without
 * credentials have a separate pool of the same size.
 */
const CONCURRENCY = { total: 64, perCaller: 16 }
/**
 * Maximum bytes of large bodies kept until the response (`holdsBody`), in total and per caller. In memory a body takes
 * three times its size.
 */
const HELD = { total: 96 * 1024 * 1024, perCaller: 64 * 1024 * 1024 }

/** A client that sends less than 1 KiB per second of a large body for this long is disconnected. */
const STALLED_AFTER_MS = 10_000

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the body may be a whole file, and stays in memory until the response. */
    holdsBody?: boolean
  }
}

interface BodyLimitOptions {
  /** Milliseconds after which a slow client is disconnected. The default is `STALLED_AFTER_MS`. */
  stalledBodyMs?: number | undefined
}

/**
 * Limits the number of large bodies that are received concurrently, and the bytes of the bodies that stay in memory
 * until the response. Without these limits slow clients could exhaust the memory.
 */
export default fp<BodyLimitOptions>(async function bodyLimits (app, { stalledBodyMs = STALLED_AFTER_MS }) {
  const acquireSlot = limitConcurrencyByCaller(CONCURRENCY)
  const takeBytes = limitConcurrencyByCaller(HELD)

  app.addHook('onRoute', (route) => {
    if (route.config?.access === 'public') route.bodyLimit ??= LARGE
  })

  app.addHook('preParsing', async function receive (request, reply, payload) {
    const { headers, routeOptions } = request
    const length = Number(headers['content-length'])
    const isLarge = length > LARGE || headers['transfer-encoding'] !== undefined
    if (!isLarge) return payload
    if (routeOptions.config.holdsBody) {
      const limit = routeOptions.bodyLimit
      finished(reply.raw, await takeBytes(request, length < limit ? length : limit))
    } else {
      const release = await acquireSlot(request)
      finished(payload, release)
      // If the response is sent before the end of the body, the rest is never read, so the payload never emits `end`.
      finished(reply.raw, release)
    }
    destroyWhenBodyStalls(request.raw, stalledBodyMs)
    return payload
  })
}, { name: 'body-limits', dependencies: ['guards'] })
