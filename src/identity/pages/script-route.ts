import { readFileSync } from 'node:fs'
import type { FastifyPluginAsync } from 'fastify'
import { described, OPEN } from './route.ts'
import { SCRIPT } from './show.ts'

/** The one script of the pages, as a file: their policy lets none run that stands inside of them. */
const scriptRoute: FastifyPluginAsync = async (app) => {
  const text = readFileSync(new URL('forms.js', import.meta.url), 'utf8')

  app.route({
    method: 'GET',
    url: SCRIPT,
    config: OPEN,
    schema: described('getScriptModuli', 'Lo script delle pagine', {}),
    handler: async (_request, reply) =>
      reply.header('cache-control', 'no-cache').type('text/javascript; charset=utf-8').send(text)
  })
}
export default scriptRoute
