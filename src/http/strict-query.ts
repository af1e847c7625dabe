import fp from 'fastify-plugin'
import { Closed } from '#schemas/common.ts'

const NONE = Closed({})

/**
 * Rejects unknown query parameters on `/api/` routes without a query schema. Otherwise a `testMode` in the query of a
 * Send would be ignored, and the guests would really be sent.
 */
export default fp(async function strictQuery (app) {
  app.addHook('onRoute', ({ url, schema }) => {
    if (schema && url.startsWith('/api/')) schema.querystring ??= NONE
  })
}, { name: 'strict-query' })
