import fp from 'fastify-plugin'

/**
 * Takes a request without a body for `{}` in the scope that registers it: some clients send the type of a body and no
 * body, some send neither.
 */
export default fp(async function noBody (app) {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, {})
    else void parse(request, body, done)
  })
  app.addHook('preValidation', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') request.body ??= {}
  })
}, { name: 'no-body' })
