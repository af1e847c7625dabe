import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { described, OPEN } from './route.ts'
import { ACCOUNT, CONTINUE, Elsewhere } from './visitors.ts'

/** The way back to the front end that has sent a person to sign in. */
const appPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { cookies, visitors, goOn }) => {
  app.route({
    method: 'POST',
    url: CONTINUE,
    config: OPEN,
    schema: described('postContinua', 'Torna all’applicazione con una sessione', { body: Fields([]) }),
    handler: async (request, reply) => {
      const visitor = await visitors.require(request)
      // It has been too long.
      if (cookies.appOf(request) === undefined) throw new Elsewhere(ACCOUNT)
      return await goOn(request, reply, visitor)
    }
  })
}
export default appPages
