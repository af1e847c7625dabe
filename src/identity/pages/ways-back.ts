import type { FastifyInstance } from 'fastify'
import { described, OPEN } from './route.ts'

const ROOT = '/auth/'
/** What a script asks, and no person. */
const QUESTION = /\/opzioni$/

/**
 * Notes the routes of the pages. Many answer a form with a page, whose address a browser asks for again: when it is
 * loaded anew, or after a stay in another program. The function that is returned leads those that take forms alone to
 * the nearest page above them.
 */
export function waysBack (app: FastifyInstance): () => void {
  const pages = new Set<string>()
  const forms = new Set<string>()
  app.addHook('onRoute', ({ method, url }) => {
    if ([method].flat().includes('GET')) pages.add(url)
    if ([method].flat().includes('POST')) forms.add(url)
  })

  return () => {
    const formsAlone = [...forms].filter((url) => !pages.has(url) && !QUESTION.test(url))
    for (const [at, url] of formsAlone.entries()) {
      const above = pageAbove(url, pages)
      app.route({
        method: 'GET',
        url,
        config: OPEN,
        schema: described(`getRitorno${at}`, 'Porta alla pagina che ha il modulo', {}),
        handler: async (_request, reply) => await reply.redirect(above, 303)
      })
    }
  }
}

function pageAbove (url: string, pages: ReadonlySet<string>): string {
  for (let end = url.lastIndexOf('/'); end > 0; end = url.lastIndexOf('/', end - 1)) {
    const above = url.slice(0, end)
    if (pages.has(above)) return above
  }
  return ROOT
}
