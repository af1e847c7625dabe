import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import { prefers } from '#src/lib/accept.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { html } from '#src/lib/html.ts'
import { link, NOTHING } from './parts.ts'
import { described, OPEN } from './route.ts'
import { show } from './show.ts'

/** `/`: tells a person what this is and where to go. A program, which asks for no HTML, finds nothing there. */
const home: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  const [frontEnd] = config.CORS_ORIGINS

  app.route({
    method: 'GET',
    url: '/',
    config: OPEN,
    schema: described('getHome', 'La prima pagina', {}),
    handler: async (request, reply) => {
      if (!prefers(request.headers.accept, 'text/html', 'application/json')) throw new RisorsaNonTrovata()
      return show(request, reply, (texts) => ({
        title: texts.homeTitle,
        hasForms: false,
        content: html`<p>${texts.homeText}</p>
${frontEnd === undefined ? NOTHING : link(frontEnd, texts.openApp)}${
  config.IDP_URL === undefined ? link('/auth/', texts.signIn) : NOTHING}${link('/docs', texts.homeApi)}${
  link('/health/ready', texts.homeHealth)}`
      })).header('vary', 'accept, accept-language')
    }
  })
}
export default home
