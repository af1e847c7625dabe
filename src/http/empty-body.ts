import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A missing body counts as `{}`. */
    bodyOptional?: boolean
  }
}

/** In the scope that registers it, a missing body counts as `{}`, because some clients send none. */
export default fp(async function emptyBody (app) {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, bodyOptional: true }
  })
  app.addHook('preValidation', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') request.body ??= {}
  })
}, { name: 'empty-body' })
