import { Type } from '@sinclair/typebox'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import { html } from '#src/lib/html.ts'

const SITEMAP = Type.String({
  examples: [
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n' +
      '<url><loc>https://locanda.example/docs</loc></url>\n</urlset>\n'
  ]
})

/** The public pages, as search engines ask for them. */
const sitemap: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  let document = ''
  // Once every plugin has named its pages: they stay the same.
  app.addHook('onReady', async () => { document = sitemapOf(config.PUBLIC_URL, app.publicPages) })

  app.route({
    method: 'GET',
    url: '/sitemap.xml',
    config: { access: 'public' },
    schema: {
      operationId: 'getSitemap',
      tags: ['Sistema'],
      summary: 'L’elenco delle pagine pubbliche, per i motori di ricerca',
      response: {
        200: { description: 'Sitemap 0.9 di sitemaps.org', content: { 'application/xml': { schema: SITEMAP } } }
      }
    },
    handler: async (_request, reply) =>
      reply.type('application/xml; charset=utf-8').header('cache-control', 'public, max-age=3600').send(document)
  })
}
export default sitemap

/** A sitemap of the protocol of sitemaps.org, version 0.9. */
function sitemapOf (base: string, pages: ReadonlySet<string>): string {
  const urls = [...pages].map((page) => html`<url><loc>${strict(new URL(base + page))}</loc></url>\n`)
  return '<?xml version="1.0" encoding="UTF-8"?>\n' +
    html`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls}</urlset>\n`.html
}

/** An address in the characters of RFC 3986: `URL` leaves some as they are that the schema does not take. */
function strict ({ origin, pathname, search }: URL): string {
  return origin + (pathname + search).replace(/[^\w.~:/?@!$&'()*+,;=%-]|%(?![\da-f]{2})/gi, encodeURIComponent)
}
