import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A request without a body is one with `{}`. */
    bodyOptional?: boolean
  }
}

/** Takes a request without a body for `{}` in the scope that registers it: some clients send no body. */
export default fp(async function noBody (app) {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, bodyOptional: true }
  })
  app.addHook('preValidation', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') request.body ??= {}
  })
}, { name: 'no-body' })
