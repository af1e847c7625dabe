import fp from 'fastify-plugin'

/** Takes a request without a body for `{}` in the scope that registers it: some clients send no body. */
export default fp(async function noBody (app) {
  app.addHook('preValidation', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') request.body ??= {}
  })
}, { name: 'no-body' })
