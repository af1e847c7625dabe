import fp from 'fastify-plugin'
import { Closed } from '#schemas/common.ts'

const NONE = Closed({})

/**
 * A route under `/api/` that declares no query takes none: a parameter that is not known is refused as in a body. A
 * `testMode` in the query of a Send would otherwise be overlooked, and the guests sent for good.
 */
export default fp(async function closedQueries (app) {
  app.addHook('onRoute', ({ url, schema }) => {
    if (schema && url.startsWith('/api/')) schema.querystring ??= NONE
  })
}, { name: 'closed-queries' })
