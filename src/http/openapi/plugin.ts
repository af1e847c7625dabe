import { readFileSync } from 'node:fs'
import { finished } from 'node:stream'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { Type, type TObject } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import fp from 'fastify-plugin'
import { Ref, ErrorBody } from '#schemas/common.ts'
import type { ErrorCode } from '#schemas/errors/catalogue.ts'
import { complete, type Description } from '#schemas/openapi/complete.ts'
import type { RouteHeaders, Trait } from '#schemas/openapi/route-headers.ts'
import { TAGS } from '#schemas/openapi/tags.ts'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'
import { VERSION } from '#src/lib/version.ts'
import type { Config } from '#src/config/config.ts'
import { STALLED_AFTER_MS, type StreamOptions } from '../streams.ts'
import { ERRORS_PAGE_POLICY, errorsPage } from './errors-page.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** Error codes of this operation, in addition to those of every operation. */
    errorCodes?: readonly ErrorCode[]
  }
  interface FastifyContextConfig {
    /** Whether the resource has a version. If so, responses have an `ETag`, and changes check `If-Match`. */
    versioned?: boolean
    headers?: RouteHeaders
  }
}

/** Concurrent requests for files of the page, in total and per caller. A browser sends six concurrently. */
const CONCURRENCY = { total: 32, perCaller: 16 }

/** Builds the OpenAPI 3.1 document of the routes. `openapiPages` serves it. */
export default fp<{ config: Config }>(async function openapi (app, { config }) {
  const traits = new Map<string, Trait>()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Locanda',
        version: VERSION,
        description: 'Prenotazioni, ospiti e invio delle schedine ad Alloggiati Web.\n\n' +
          'La pagina [/docs/errori](/docs/errori) spiega ogni `codice` di errore, con il rimedio. Ogni operazione ' +
          'elenca i suoi codici, anche in `x-codici`. Gli errori «di ogni richiesta» valgono per tutte.',
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'Chi gestisce questo server', url: config.PUBLIC_URL }
      },
      // “Try it out” sends its requests to the host that served the page.
      servers: [
        { url: '/', description: 'Questo server' },
        { url: config.PUBLIC_URL, description: 'Il suo indirizzo pubblico' }
      ],
      tags: TAGS,
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
          apiKeyQuery: { type: 'apiKey', in: 'query', name: 'api_key' },
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'Il token di una persona, verificato secondo RFC8725: algoritmo, emittente, scadenza'
          }
        }
      }
    },
    transform: ({ schema, url, route }) => {
      if (schema?.operationId !== undefined) {
        traits.set(schema.operationId, { method: String(route.method), schema, config: route.config ?? {} })
      }
      return nameWildcard({ schema, url })
    },
    transformObject: (made) => {
      if (!('openapiObject' in made)) throw new TypeError('Not an OpenAPI 3 document')
      // The library's type covers several versions of OpenAPI, and leaves every field optional.
      return complete(made.openapiObject as unknown as Description, traits) as unknown as typeof made.openapiObject
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `def-${i}`) }
  })

  // Every route can fail. Without a schema Fastify would serialize all fields of an error.
  app.addHook('onRoute', ({ schema }) => {
    if (!schema) return
    schema.response = { '4xx': Ref(ErrorBody), '5xx': Ref(ErrorBody), ...(schema.response as object) }
  })
}, { name: 'openapi' })

interface Described { schema: FastifySchema, url: string }

/** OpenAPI has no wildcard path parameter, so `*` is described as `filename`, its contract name. */
function nameWildcard ({ schema, url }: Described): Described {
  const params = schema?.params as TObject | undefined
  if (params?.properties['*'] === undefined) return { schema, url }
  const { '*': filename, ...properties } = params.properties
  const required = params.required?.map((name) => name === '*' ? 'filename' : name)
  return {
    schema: { ...schema, params: { ...params, properties: { ...properties, filename }, required } },
    url: url.replace('*', ':filename')
  }
}

/*
 * The library's own policy upgrades requests to https, which a plain http server does not support. It also allows other
 * hosts.
 */
const PAGE_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  // The hash of the only style element that the page's script creates.
  'style-src': "'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'"
}

/** Lets a person sign in on the page. */
const SIGN_IN = readFileSync(new URL('docs-sign-in.js', import.meta.url), 'utf8')

/** Styles the sign-in bar, hides the top bar, and narrows elements that are wider than a phone screen. */
const STYLE = `
.locanda-sign-in { display: flex; gap: 1rem; align-items: center; justify-content: flex-end; flex-wrap: wrap;
  padding: .6rem 1rem; font: 1rem system-ui, sans-serif; color: #222; background: #eef3f1; overflow-wrap: anywhere; }
.locanda-sign-in button { font: inherit; padding: .4rem 1.2rem; border: 0; border-radius: 4px; cursor: pointer;
  color: #fff; background: #1d5f4e; }
.dark-mode .locanda-sign-in { color: #e4e4e4; background: #24302c; }
.swagger-ui .topbar-wrapper > :not(.dark-mode-toggle) { display: none; }
@media (max-width: 640px) {
  .swagger-ui { overflow-x: clip; }
  .swagger-ui .wrapper, .swagger-ui .information-container { padding: 0 10px; }
  .swagger-ui .opblock .opblock-summary-control { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; flex-shrink: 1; }
  .swagger-ui .opblock .opblock-summary-description { flex: 1 0 100%; }
  .swagger-ui .opblock-tag { flex-wrap: wrap; font-size: 20px; }
  .swagger-ui .opblock-body, .swagger-ui table { display: block; overflow-x: auto; }
  .swagger-ui .scheme-container .schemes { flex-wrap: wrap; }
  .swagger-ui .info .title, .swagger-ui .markdown, .swagger-ui .renderedMarkdown { overflow-wrap: anywhere; }
}
`

/** Serves the description and its pages. Registered in its own scope, because these pages may run scripts. */
export async function openapiPages (
  app: Parameters<typeof swaggerUi>[0],
  { config, stalledReaderMs = STALLED_AFTER_MS }: StreamOptions & { config: Config }
) {
  // Built once, at the first request, because routes cannot be added later.
  let text: Buffer | undefined
  const description = () => Buffer.from(JSON.stringify(app.swagger()))

  app.defaultAccess = 'public'
  app.get(
    '/openapi.json',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'getOpenapi',
        tags: ['Sistema'],
        summary: 'La descrizione OpenAPI 3.1 di questo servizio',
        response: {
          200: Type.Object(
            {},
            {
              additionalProperties: true,
              examples: [{ openapi: '3.1.0', info: { title: 'Locanda', version: '0.1.0' }, paths: {} }]
            }
          )
        }
      }
    },
    async (_request, reply) => reply.type('application/json; charset=utf-8').send(text ??= description())
  )

  app.addPublicPage('/docs')
  app.get(
    '/docs/errori',
    { config: { access: 'public' }, schema: { hide: true, response: { 200: Type.String() } } },
    async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('content-security-policy', ERRORS_PAGE_POLICY).send(errorsPage())
  )
  await app.register(async (pages) => {
    const acquireSlot = limitConcurrencyByCaller(CONCURRENCY)
    // An external identity provider has its own sign-in pages.
    const script = `const PUBLIC_URL = ${JSON.stringify(config.PUBLIC_URL)}\n${SIGN_IN}`
    const js = config.IDP_URL === undefined ? [{ filename: 'sign-in.js', content: script }] : []
    // The library opens a file for every request. A client that stops reading must not keep the file open.
    pages.addHook('onRequest', async function holdSlot (request, { raw }) {
      finished(raw, await acquireSlot(request))
      destroyWhenStalled(raw, stalledReaderMs)
    })
    // The library sets no viewport, so phones would show the page in desktop width.
    pages.addHook('onSend', async (_request, reply, payload) =>
      typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
        ? payload.replace('<head>', '<head>\n<meta name="viewport" content="width=device-width, initial-scale=1">')
        : payload)
    await pages.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: PAGE_POLICY,
      logLevel: 'warn',
      theme: { title: 'Locanda · API', css: [{ filename: 'locanda.css', content: STYLE }], js },
      // A search field for groups and paths.
      uiConfig: { filter: true }
    })
  })
}
