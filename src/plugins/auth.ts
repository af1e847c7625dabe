import { hash, timingSafeEqual } from 'node:crypto'
import jwt from '@fastify/jwt'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config.ts'
import { NonAutenticato, NonAutorizzato } from '#src/errors.ts'
import type { Keys } from '#src/keys.ts'
import { tokenSettings, type Claims } from '#src/tokens.ts'

/** Who may call a route. */
export type Access = 'public' | 'auth' | 'admin'

/** Who is calling: the server's own key, or the subject of a token. */
export interface Principal {
  /** Names the caller wherever one is counted or recorded; never a secret. */
  id: string
  kind: 'server' | 'user'
  admin: boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route: without it the server does not start. */
    access?: Access
  }
  interface FastifyRequest {
    /** Null for a caller without credentials, or with wrong ones. */
    principal: Principal | null
  }
  interface FastifyInstance {
    /** What the routes of an instance are guarded by where they do not say it themselves: only for other people's plugins. */
    defaultAccess: Access | undefined
  }
}

declare module '@fastify/jwt' {
  interface FastifyJWT { payload: Claims, user: Claims }
}

const USER_ROLE = 'authenticated'
const ADMIN_ROLES = new Set(['service_role', 'supabase_admin'])
const SERVER: Principal = { id: 'server', kind: 'server', admin: false }

/**
 * Identifies the caller of every request (header `x-api-key`, query `api_key`, bearer token) and puts a guard on every route
 * by its `config.access`. Identification comes first, so that the rate limit between the two can count by caller.
 */
export default fp<{ config: Config, keys: Keys }>(async function auth (app, { config, keys }) {
  await app.register(jwt, tokenSettings(config, keys))
  const isServerKey = secretComparer(config.API_KEY)

  app.decorate('defaultAccess', undefined)
  app.decorateRequest('principal', null)

  app.addHook('onRequest', function identify (request, _reply, done) {
    request.principal = identified(request)
    done()
  })

  /** The first credential presented counts; a wrong one is not made good by another. */
  function identified (request: FastifyRequest): Principal | null {
    const { authorization, 'x-api-key': header } = request.headers
    const query = takeQueryKey(request)
    const key = header ?? query
    if (authorization !== undefined) {
      const token = /^Bearer ([^\s]+)$/i.exec(authorization)?.[1]
      const principal = token === undefined ? null : subject(token)
      return principal !== null && (key === undefined || key === token || isServerKey(key)) ? principal : null
    }
    return key !== undefined && isServerKey(key) ? SERVER : null
  }

  function subject (token: string): Principal | null {
    try {
      const { sub, role } = app.jwt.verify<Partial<Record<keyof Claims, unknown>>>(token)
      if (typeof sub !== 'string' || sub === '' || typeof role !== 'string' || !(role === USER_ROLE || ADMIN_ROLES.has(role))) return null
      return { id: `user:${sub}`, kind: 'user', admin: ADMIN_ROLES.has(role) }
    } catch {
      return null
    }
  }
}, { name: 'auth' })

/** Puts the guards on. Registered after the rate limit: a flood of wrong credentials is counted before it is refused. */
export const guards = fp(async function guards (app) {
  app.addHook('onRoute', function guard (route) {
    const access = route.config?.access ?? this.defaultAccess
    if (access === undefined) throw new Error(`Route ${String(route.method)} ${route.url} does not say who may call it (config.access)`)
    route.config = { ...route.config, access }
    if (access === 'public') return
    const check = access === 'admin' ? requireAdmin : requireCaller
    route.onRequest = [route.onRequest ?? [], check].flat()
    if (route.schema) route.schema.security ??= [{ apiKey: [] }, { apiKeyQuery: [] }, { bearer: [] }]
  })
}, { name: 'guards', dependencies: ['auth'] })

type Done = (err?: Error) => void

/** What is guarded is somebody's data: no cache keeps it, unless the route says otherwise. */
function requireCaller (request: FastifyRequest, reply: FastifyReply, done: Done): void {
  reply.header('cache-control', 'no-store')
  done(request.principal === null ? new NonAutenticato() : undefined)
}

function requireAdmin (request: FastifyRequest, reply: FastifyReply, done: Done): void {
  reply.header('cache-control', 'no-store')
  if (request.principal === null) return done(new NonAutenticato())
  done(request.principal.admin ? undefined : new NonAutorizzato())
}

/** Takes the key out of query and address, so that closed query schemas, handlers, redirects and logs never meet it. */
function takeQueryKey (request: FastifyRequest): unknown {
  const query = request.query as Record<string, unknown>
  const key = query.api_key
  if (key === undefined) return undefined
  delete query.api_key
  const [path, search = ''] = request.url.split(/\?(.*)/s)
  const others = search.split('&').filter((pair) => !new URLSearchParams(pair).has('api_key'))
  request.raw.url = others.length > 0 ? `${path}?${others.join('&')}` : path
  return key
}

/** Compares against the secret in constant time, whatever the length of what is presented. */
function secretComparer (secret: string | undefined): (presented: unknown) => boolean {
  if (secret === undefined) return () => false
  const digest = (text: string) => hash('sha256', text, 'buffer')
  const expected = digest(secret)
  return (presented) => typeof presented === 'string' && timingSafeEqual(digest(presented), expected)
}
