import fp from 'fastify-plugin'

/** Takes a field of a body that is null for one that is not there: some clients write every field that they know. */
export default fp(async function nullFields (app) {
  app.addHook('preValidation', async (request) => {
    if (!isObject(request.body)) return
    for (const [name, value] of Object.entries(request.body)) if (value === null) delete request.body[name]
  })
}, { name: 'null-fields', dependencies: ['no-body'] })

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
