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
  PasswordDaCambiare,
  SecondoFattoreDaRegistrare,
  SecondoFattoreRecente,
  SecondoFattoreRichiesto,
  ServeUnaPersona
} from '#src/lib/errors.ts'

/**
 * The callers that a route accepts. `optional`: every caller. `request.denial` tells the handler that the caller may
 * see only public data. `user`: a person with a bearer token, not an API key. `cookie`: a browser, which the scope of
 * the route authenticates (`cookieGuard`).
 */
export type Access = 'public' | 'optional' | 'auth' | 'user' | 'admin' | 'cookie'

/** The caller of a request. */
export interface Principal {
  /** Identifies the caller in counters and records. It contains no secret. */
  id: string
  /** The server's own key, a service token, or a person. */
  kind: 'server' | 'service' | 'user'
  /** True for an administrator whose credential permits it. May be cached. `isAdmin` asks the provider again. */
  admin: boolean
  userId?: string
  /** The user's session. Undefined when the user has an API key. */
  sessionId?: string
  /** The user's API key. `scopes` lists the permissions of the key. */
  keyId?: string
  scopes?: readonly string[]
  /** Whether the user has no role that gives rights. */
  pending?: boolean
  /**
   * The step that the user must complete before other requests: enrol a second factor, verify an existing one, or
   * replace the password that the server printed.
   */
  lacks?: 'enrolment' | 'proof' | 'password' | undefined
  /** Until this time the second factor counts as recently verified (ms since the epoch). */
  recentUntil?: number | undefined
  /**
   * The credential expires at this time (ms since the epoch), unless it is revoked earlier. Undefined if it does not
   * expire.
   */
  goodUntil?: number
}

/** The fields of a caller that identify the credential. They contain no secret. */
export type Credential = Pick<Principal, 'id' | 'kind' | 'userId' | 'sessionId' | 'keyId'>

/** The reason why a credential was rejected. The values are error codes of Supabase Auth. */
export type Refusal =
  'no_authorization' | 'bad_jwt' | 'session_not_found' | 'session_expired' | 'user_not_found' | 'user_banned'
/** The result of a check of a credential: the caller, or the reason for the rejection. */
export type Identified = Principal | Refusal

/** Verifies credentials. The embedded and the external identity provider implement it. */
export interface Authenticator {
  /** Returns the caller of a bearer token. Returns no promise when the token is cached. */
  bearer (token: string, request: FastifyRequest): Identified | Promise<Identified>
  /** Returns the owner of a personal API key. */
  key (text: string): Promise<Principal | undefined>
  /** Asks the provider whether the caller is an administrator now. Also checks that the credential permits it. */
  isAdmin (principal: Principal, request: FastifyRequest): Promise<boolean>
  /** Whether the credential of an earlier request is still valid. Checks the session or key, and the user. */
  isStillValid (credential: Credential): Promise<boolean>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route, unless its scope has a `defaultAccess`. Without either the server does not start. */
    access?: Access
    /** The scope that an API key needs. The default depends on the access and the HTTP method. */
    scope?: Scope
    /**
     * The route belongs to sign-in or sign-out. It stays available during maintenance and before the second factor is
     * verified.
     */
    signIn?: boolean
    /** The step that this route completes. A person who lacks that step may call the route. */
    completes?: Principal['lacks']
    /** Requires a recently verified second factor when `REQUIRE_RECENT_MFA` is set. */
    recentFactor?: boolean
    /** Whether the route also accepts an API key as bearer token, because Prometheus sends the key there. */
    bearerKey?: boolean
  }
  interface FastifyRequest {
    /** Null when the request has no valid credentials. */
    principal: Principal | null
    /** The reason why `principal` is null. */
    refusal: Refusal
    /** On a route with access `optional`: the error for a caller who may see only public data. */
    denial: Error | null
  }
  interface FastifyInstance {
    /** Access of routes without `config.access`. Only for routes of third-party plugins. */
    defaultAccess: Access | undefined
    /** The guard of routes with access `cookie` in this instance. It throws to reject the request. */
    cookieGuard: onRequestAsyncHookHandler | undefined
  }
}

const SERVER: Principal = { id: 'server', kind: 'server', admin: false }

/**
 * Identifies the caller of every request to a route that is not public (header `x-api-key`, query `api_key`, bearer
 * token). The rate limit runs afterwards, so that it can count requests per caller, and the guards run last.
 */
export default fp<{ config: Config; authenticator: Authenticator }>(
  async function auth (app, { config, authenticator }) {
    const isServerKey = secretComparer(config.API_KEY)

    app.decorate('defaultAccess', undefined)
    app.decorate('cookieGuard', undefined)
    app.decorateRequest('principal', null)
    app.decorateRequest('refusal', 'no_authorization')
    app.decorateRequest('denial', null)

    app.addHook('onRequest', function identify (request, _reply, done) {
      const found = findCaller(request)
      if (!(found instanceof Promise)) return done(setCaller(request, found))
      found.then((identity) => done(setCaller(request, identity)), done)
    })

    /** A malformed `Authorization` is rejected even with a valid key. A key in the header hides one in the query. */
    function findCaller (request: FastifyRequest): Identified | Promise<Identified> {
      const { authorization, 'x-api-key': header } = request.headers
      const query = takeQueryKey(request)
      const key = header ?? query
      // Public routes answer all callers in the same way. Without a lookup they also work without a database.
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

/** A token and a key in one request must belong to the same person. */
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
 * Adds the guard for its `config.access` to every route that is not public. The guards are registered after the rate
 * limit, so that wrong credentials are counted before they are rejected.
 */
export const guards = fp<{ config: Config; authenticator: Authenticator }>(async function guards (app, options) {
  const { authenticator, config: { REQUIRE_RECENT_MFA } } = options
  const CHECKS = { optional: noteDenial, auth: requireCaller, user: requirePerson, admin: requireAdmin }

  app.addHook('onRoute', function guard (route) {
    const access = route.config?.access ?? this.defaultAccess
    if (access === undefined) {
      throw new Error(`Route ${String(route.method)} ${route.url} has no config.access`)
    }
    const scope = route.config?.scope ?? scopeOf(access, String(route.method))
    route.config = { ...route.config, access, scope }
    if (access === 'public') return
    const check = access === 'cookie' ? this.cookieGuard : CHECKS[access]
    if (check === undefined) {
      throw new Error(`Route ${String(route.method)} ${route.url} has no cookieGuard that checks its cookie`)
    }
    route.onRequest = [route.onRequest ?? [], check].flat()
    // The OpenAPI description leaves out HTML pages.
    if (!route.schema || access === 'cookie') return
    const anyCredential: Record<string, string[]>[] = [{ apiKey: [] }, { apiKeyQuery: [] }, { bearer: [] }]
    route.schema.security ??= access === 'user'
      ? [{ bearer: [] }]
      : access === 'optional' ? [{}, ...anyCredential] : anyCredential
  })

  // Runs after the guard, so that only permitted callers learn of the additional requirement.
  if (REQUIRE_RECENT_MFA) {
    app.addHook('onRoute', function guardMore (route) {
      if (route.config?.recentFactor) route.onRequest = [route.onRequest ?? [], requireRecentFactor].flat()
    })
  }

  /** Guarded routes return private data. They forbid caching unless the route sets its own header. */
  function requireCaller (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    reply.header('cache-control', 'no-store')
    done(accessError(request))
  }

  function noteDenial (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    reply.header('cache-control', 'no-store')
    request.denial = accessError(request) ?? null
    done()
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

  /** Server keys and service keys have no second factor, so this guard accepts them. */
  function requireRecentFactor ({ principal }: FastifyRequest, _reply: FastifyReply, done: Done): void {
    const { kind, recentUntil = 0 } = principal!
    done(kind === 'user' && recentUntil <= Date.now() ? new SecondoFattoreRecente() : undefined)
  }
}, { name: 'guards', dependencies: ['auth'] })

type Done = (err?: Error) => void

/** The error for a user who must complete this step first. */
export function stepError (lacks: NonNullable<Principal['lacks']>): Error {
  if (lacks === 'password') return new PasswordDaCambiare()
  return lacks === 'proof' ? new SecondoFattoreRichiesto() : new SecondoFattoreDaRegistrare()
}

/** Returns the error for a caller without access to the route, or undefined when access is granted. */
function accessError ({ principal, routeOptions: { config } }: FastifyRequest): Error | undefined {
  if (principal === null) return new NonAutenticato()
  const { lacks } = principal
  if (lacks !== undefined && lacks !== config.completes && !config.signIn) return stepError(lacks)
  if (principal.pending && config.access !== 'user') return new AccountInAttesa()
  return permits(principal, config.scope!) ? undefined : new AmbitoInsufficiente(config.scope!)
}

/** Whether the caller's credential permits a scope. An API key permits its scopes, any other credential all. */
export function permits ({ scopes }: Pick<Principal, 'scopes'>, scope: Scope): boolean {
  return scopes === undefined || scopes.includes(scope)
}

function scopeOf (access: Access, method: string): Scope {
  if (access === 'admin') return 'amministrazione'
  return method === 'GET' || method === 'HEAD' ? 'lettura' : 'scrittura'
}

/** Removes the key from query and URL, so that strict query schemas, handlers, redirects and logs do not see it. */
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
