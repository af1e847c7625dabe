import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { tagOf } from './app-request.ts'
import { showContinue } from './app-view.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { described, OPEN } from './route.ts'
import { ACCOUNT, CONTINUE, DECLINE, Elsewhere } from './visitors.ts'

/** The way back to the front end that has sent a person to sign in. */
const appPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { cookies, visitors, goOn }) => {
  app.route({
    method: 'POST',
    url: CONTINUE,
    config: OPEN,
    schema: described('postContinua', 'Torna all’applicazione con una sessione', { body: Fields(['app']) }),
    handler: async (request, reply) => {
      const visitor = await visitors.require(request)
      // It has been too long.
      const asked = cookies.appOf(request)
      if (asked === undefined) throw new Elsewhere(ACCOUNT)
      const { app } = request.body
      // Another request has come in its place: the person agrees to the one that they see.
      if (app !== tagOf(asked)) return showContinue(request, reply, visitor, asked)
      return await goOn(request, reply, visitor, true)
    }
  })

  app.route({
    method: 'POST',
    url: DECLINE,
    config: OPEN,
    schema: described('postRifiuta', 'Non dà una sessione all’applicazione', { body: Fields([]) }),
    handler: async (_request, reply) => {
      cookies.clearApp(reply)
      return await reply.redirect(ACCOUNT, 303)
    }
  })
}
export default appPages
