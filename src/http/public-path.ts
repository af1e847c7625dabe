import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { html } from '#src/lib/html.ts'
import { publicPath } from '#src/lib/local-paths.ts'

/** The first slash of a local URL in an HTML attribute. Text entered by users is escaped and has no `"`. */
const IN_PAGE = /(?<= (?:href|action|src|data-(?:options|live)|hx-get|hx-post)=")\/(?!\/)/g
/** The first slash of a local URL in a header: bare in `Location` and `HX-Redirect`, in angle brackets in `Link`. */
const IN_HEADER = /^<?\/(?!\/)/

/**
 * Prefixes local paths with the path of `PUBLIC_URL`. Routes and pages write paths from the root, and a proxy strips
 * the prefix from requests. The headers and pages of all responses are rewritten here, so that no page can lack the
 * prefix.
 *
 * It is registered after the idempotency plugin, which stores responses without the prefix.
 */
export default fp<{ config: Config }>(async function prefixPublicPath (app, { config }) {
  const path = publicPath(config.PUBLIC_URL)
  if (path === '') return
  const { html: written } = html`${path}`

  app.addHook('onRoute', (route) => { route.onSend = [...[route.onSend ?? []].flat(), addPath] })
  // Unknown paths have no route, but browsers get a page there too.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.is404) addPath(request, reply, payload, done)
    else done(null, payload)
  })

  function addPath (_request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void {
    for (const name of ['location', 'link', 'hx-redirect']) {
      const value = reply.getHeader(name)
      if (typeof value !== 'string') continue
      reply.header(name, value.replace(IN_HEADER, (start) => start.replace('/', () => `${path}/`)))
    }
    const isPage = typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
    done(null, isPage ? payload.replace(IN_PAGE, () => `${written}/`) : payload)
  }
}, { name: 'public-path', dependencies: ['idempotency'] })

type Done = (err: Error | null, payload?: unknown) => void
