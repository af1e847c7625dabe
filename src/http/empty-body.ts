import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a missing or `null` body counts as `{}`. */
    bodyOptional?: boolean
  }
}

/** A missing or `null` body counts as `{}` in the scope that registers this plugin. Some clients send no body. */
export default fp(async function emptyBody (app) {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, bodyOptional: true }
  })
  app.addHook('preValidation', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') request.body ??= {}
  })
}, { name: 'empty-body' })
