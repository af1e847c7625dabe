import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { secretComparer } from '#src/lib/secrets.ts'
import type { Scope } from '#schemas/api-key.ts'
import type { Config } from '#src/config/config.ts'
import {
  AccountInAttesa,
  AmbitoInsufficiente,
  NonAutenticato,
  NonAutorizzato,
  SecondoFattoreDaRegistrare,
  SecondoFattoreRecente,
  SecondoFattoreRichiesto,
  ServeUnaPersona
} from '#src/lib/errors.ts'

/**
 * Who may call a route. `user`: a person with a bearer token, not a key. `cookie`: a browser, by what its scope checks
 * (`cookieGuard`).
 */
export type Access = 'public' | 'auth' | 'user' | 'admin' | 'cookie'

/** The caller of a request. */
export interface Principal {
  /** Names the caller in counters and records; never a secret. */
  id: string
  /** The server's own key, a service token, or a person. */
  kind: 'server' | 'service' | 'user'
  /** As far as is remembered: routes for administrators ask the provider again. */
  admin: boolean
  userId?: string
  /** The session that the person signed in with; without, the person came with an API key. */
  sessionId?: string
  /** The API key that the person came with, and what it may be used for. */
  keyId?: string
  scopes?: readonly string[]
  /** The person has signed up without an invitation and has no role yet. */
  pending?: boolean
  /** What the person must do before anything but signing in: enrol a second factor, or prove the one that they have. */
  lacks?: 'enrolment' | 'proof' | undefined
  /** Until when the second factor counts as recently proven, ms since the epoch. */
  recentUntil?: number | undefined
  /** Until when the credential is good if nothing changes, ms since the epoch; without, it does not run out. */
  goodUntil?: number
}

/** Why a credential is not good, in the codes of Supabase Auth. */
export type Refusal =
  'no_authorization' | 'bad_jwt' | 'session_not_found' | 'session_expired' | 'user_not_found' | 'user_banned'
/** What a credential proves: who the caller is, or why the credential is not good. */
export type Identified = Principal | Refusal

/** What an identity provider, embedded or external, knows of credentials. */
export interface Authenticator {
  /** The caller behind a bearer token; not a promise when the token is remembered. */
  bearer (token: string, request: FastifyRequest): Identified | Promise<Identified>
  /** The caller behind a person's API key. */
  key (text: string): Promise<Principal | undefined>
  /** Whether a caller is an administrator at this moment. */
  isAdmin (principal: Principal, request: FastifyRequest): Promise<boolean>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route: without it the server does not start. */
    access?: Access
    /** What a key must be good for; without it the method says so. */
    scope?: Scope
    /**
     * A part of signing in and out: it goes on for everybody while the service is under maintenance, and for a person
     * who has not proven a second factor yet.
     */
    signIn?: boolean
    /** Wants a second factor that was proven recently, where the server is told so (`REQUIRE_RECENT_MFA`). */
    recentFactor?: boolean
    /** An API key may come as a bearer token, as Prometheus sends it. */
    bearerKey?: boolean
  }
  interface FastifyRequest {
    /** Null for a caller without credentials, or with wrong ones. */
    principal: Principal | null
    /** Why it is null. */
    refusal: Refusal
  }
  interface FastifyInstance {
    /**
     * The access of routes that do not say it themselves: only for plugins of other authors.
     */
    defaultAccess: Access | undefined
    /** What guards the routes of an instance whose access is `cookie`. It throws to refuse. */
    cookieGuard: onRequestAsyncHookHandler | undefined
  }
}

const SERVER: Principal = { id: 'server', kind: 'server', admin: false }

/**
 * Identifies the caller of every request (header `x-api-key`, query `api_key`, bearer token) and puts a guard on every
 * route by its `config.access`. Identification comes first, so that the rate limit between the two can count by caller.
 */
export default fp<{ config: Config; authenticator: Authenticator }>(
  async function auth (app, { config, authenticator }) {
    const isServerKey = secretComparer(config.API_KEY)

    app.decorate('defaultAccess', undefined)
    app.decorate('cookieGuard', undefined)
    app.decorateRequest('principal', null)
    app.decorateRequest('refusal', 'no_authorization')

    app.addHook('onRequest', function identify (request, _reply, done) {
      const found = findCaller(request)
      if (!(found instanceof Promise)) return done(setCaller(request, found))
      found.then((identity) => done(setCaller(request, identity)), done)
    })

    /** The first credential presented counts; a wrong one is not made good by another. */
    function findCaller (request: FastifyRequest): Identified | Promise<Identified> {
      const { authorization, 'x-api-key': header } = request.headers
      const query = takeQueryKey(request)
      const key = header ?? query
      // A public route answers every caller alike, so that no credential is looked up: it works without a database.
      if (request.routeOptions.config.access === 'public') return 'no_authorization'
      if (authorization === undefined) return key === undefined ? 'no_authorization' : byKey(key)
      const token = /^Bearer ([^\s]+)$/i.exec(authorization)?.[1]
      if (token === undefined) return 'no_authorization'
      if (request.routeOptions.config.bearerKey && token.split('.').length !== 3) return byKey(token)
      const bearer = authenticator.bearer(token, request)
      return key === undefined || key === token || isServerKey(key) ? bearer : oneCaller(bearer, byKey(key))
    }

    function byKey (key: unknown): Identified | Promise<Identified> {
      if (isServerKey(key)) return SERVER
      return typeof key === 'string' && key !== ''
        ? authenticator.key(key).then((principal) => principal ?? 'no_authorization')
        : 'no_authorization'
    }
  },
  { name: 'auth' }
)

/** A token and a key that come together must be of the same person. */
async function oneCaller (
  bearer: Identified | Promise<Identified>,
  byKey: Identified | Promise<Identified>
): Promise<Identified> {
  const [first, second] = await Promise.all([bearer, byKey])
  if (typeof first === 'string') return first
  return typeof second === 'object' && second.userId !== undefined && second.userId === first.userId ? first : 'bad_jwt'
}

function setCaller (request: FastifyRequest, identity: Identified): undefined {
  if (typeof identity === 'string') request.refusal = identity
  else request.principal = identity
}

/**
 * Puts the guards on. Registered after the rate limit: a flood of wrong credentials is counted before it is refused.
 */
export const guards = fp<{ config: Config; authenticator: Authenticator }>(async function guards (app, options) {
  const { authenticator, config: { REQUIRE_RECENT_MFA } } = options
  const CHECKS = { auth: requireCaller, user: requirePerson, admin: requireAdmin }

  app.addHook('onRoute', function guard (route) {
    const access = route.config?.access ?? this.defaultAccess
    if (access === undefined) {
      throw new Error(`Route ${String(route.method)} ${route.url} does not say who may call it (config.access)`)
    }
    const scope = route.config?.scope ?? scopeOf(access, String(route.method))
    route.config = { ...route.config, access, scope }
    if (access === 'public') return
    const check = access === 'cookie' ? this.cookieGuard : CHECKS[access]
    if (check === undefined) {
      throw new Error(`Nothing checks the cookie of route ${String(route.method)} ${route.url} (cookieGuard)`)
    }
    route.onRequest = [route.onRequest ?? [], check].flat()
    // Pages are not part of the description.
    if (!route.schema || access === 'cookie') return
    route.schema.security ??=
      access === 'user' ? [{ bearer: [] }] : [{ apiKey: [] }, { apiKeyQuery: [] }, { bearer: [] }]
  })

  // After the guard: nobody else learns that a route is guarded more.
  if (REQUIRE_RECENT_MFA) {
    app.addHook('onRoute', function guardMore (route) {
      if (route.config?.recentFactor) route.onRequest = [route.onRequest ?? [], requireRecentFactor].flat()
    })
  }

  /** A guarded route answers with private data: no cache keeps it, unless the route says otherwise. */
  function requireCaller (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    reply.header('cache-control', 'no-store')
    done(accessError(request))
  }

  function requirePerson (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    reply.header('cache-control', 'no-store')
    const { principal } = request
    done(principal !== null && principal.sessionId === undefined ? new ServeUnaPersona() : accessError(request))
  }

  function requireAdmin (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    reply.header('cache-control', 'no-store')
    const error = accessError(request)
    if (error) return done(error)
    authenticator.isAdmin(request.principal!, request).then((is) => done(is ? undefined : new NonAutorizzato()), done)
  }

  /** Machines have no second factor: the server's keys pass. */
  function requireRecentFactor ({ principal }: FastifyRequest, _reply: FastifyReply, done: Done): void {
    const { kind, recentUntil = 0 } = principal!
    done(kind === 'user' && recentUntil <= Date.now() ? new SecondoFattoreRecente() : undefined)
  }
}, { name: 'guards', dependencies: ['auth'] })

type Done = (err?: Error) => void

/** The error for somebody whose second factor was not proven, or is not there. */
export function factorError (lacks: NonNullable<Principal['lacks']>): Error {
  return lacks === 'proof' ? new SecondoFattoreRichiesto() : new SecondoFattoreDaRegistrare()
}

/** The error for a caller who may not call this route; undefined: the caller may. */
function accessError ({ principal, routeOptions: { config } }: FastifyRequest): Error | undefined {
  if (principal === null) return new NonAutenticato()
  if (principal.lacks !== undefined && !config.signIn) return factorError(principal.lacks)
  if (principal.pending && config.access !== 'user') return new AccountInAttesa()
  return principal.scopes === undefined || principal.scopes.includes(config.scope!)
    ? undefined
    : new AmbitoInsufficiente(config.scope!)
}

function scopeOf (access: Access, method: string): Scope {
  if (access === 'admin') return 'amministrazione'
  return method === 'GET' || method === 'HEAD' ? 'lettura' : 'scrittura'
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
