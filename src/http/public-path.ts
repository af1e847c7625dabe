import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { html } from '#src/lib/html.ts'
import { publicPath } from '#src/lib/own-paths.ts'

/** The first slash of an own address, where a page writes one. What people wrote is escaped: it has no `"`. */
const IN_PAGE = /(?<= (?:href|action|src|data-options)=")\/(?!\/)/g
/** The same, in a header: of `Location` as it is, of `Link` in its brackets. */
const IN_HEADER = /^<?\/(?!\/)/

/**
 * Routes and pages name the addresses of this server as it knows them, from its root. Where `PUBLIC_URL` has a path,
 * which a proxy takes off, browsers and clients need it before each of these. It is put there on the way out, for all
 * routes, so that no page can forget it.
 *
 * Answers to an `Idempotency-Key` are kept before that: it is registered after that plugin.
 */
export default fp<{ config: Config }>(async function ownAddresses (app, { config }) {
  const path = publicPath(config.PUBLIC_URL)
  if (path === '') return
  const { html: written } = html`${path}`

  app.addHook('onRoute', (route) => { route.onSend = [...[route.onSend ?? []].flat(), putPath] })
  // Addresses that lead nowhere are no routes; a person sees a page there, too.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.is404) putPath(request, reply, payload, done)
    else done(null, payload)
  })

  function putPath (_request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void {
    for (const name of ['location', 'link']) {
      const value = reply.getHeader(name)
      if (typeof value !== 'string') continue
      reply.header(name, value.replace(IN_HEADER, (start) => start.replace('/', () => `${path}/`)))
    }
    const isPage = typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
    done(null, isPage ? payload.replace(IN_PAGE, () => `${written}/`) : payload)
  }
}, { name: 'public-path', dependencies: ['idempotency'] })

type Done = (err: Error | null, payload?: unknown) => void
