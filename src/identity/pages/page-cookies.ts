import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { CookieSerializeOptions } from '@fastify/cookie'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { ownCookies } from '#src/lib/local-paths.ts'
import { readChallenge, type Challenge } from '../sign-in/flow-states.ts'
import { allowedRedirect } from '../sign-in/redirects.ts'
import { Refused } from './call-route.ts'

/* Cookies of the pages. The API and the protocol ignore them. */

/** A session id, and the HMAC-SHA256 that proves that this installation issued the cookie. */
const FORM = /^([0-9a-f-]{36})\.([0-9a-f]{64})$/
const VERIFIER = /^[\w-]{43}$/
const FLOW_SECONDS = 900
/** A path of this server outside the pages of the sign-in. */
const OWN_PAGE = /^\/(?!\/|auth\/)[\w\-/?=&.%+]{0,500}$/

/** A front end's request for a sign-in: the URL to return to, and its PKCE challenge. */
export interface AppRequest { redirectTo: string, challenge: Challenge }

export const AppQuery = Type.Object({
  redirect_to: Type.Optional(Type.String({ maxLength: 2000 })),
  code_challenge: Type.Optional(Type.String({ maxLength: 128 })),
  code_challenge_method: Type.Optional(Type.String({ maxLength: 10 }))
})

export function setSession (reply: FastifyReply, id: string): void {
  set(reply, 'session', `${id}.${mac(reply.server, id).toString('hex')}`)
}

export function sessionOf (request: FastifyRequest): string | undefined {
  const [, id, presented] = FORM.exec(read(request, 'session') ?? '') ?? []
  if (id === undefined || presented === undefined) return undefined
  return timingSafeEqual(mac(request.server, id), Buffer.from(presented, 'hex')) ? id : undefined
}

export function clearSession (reply: FastifyReply): void {
  clear(reply, 'session')
}

/** Remembers the page that a signed-out person asked for. The person returns to it after the sign-in. */
export function setNextPage (reply: FastifyReply, path: string): void {
  if (OWN_PAGE.test(path)) set(reply, 'page', path, { maxAge: FLOW_SECONDS })
}

/** Validates the value again, because the cookie is not signed. */
export function nextPageOf (request: FastifyRequest): string | undefined {
  const value = read(request, 'page')
  try {
    return value === undefined ? undefined : OWN_PAGE.exec(decodeURIComponent(value))?.[0]
  } catch {
    return undefined
  }
}

export function clearNextPage (reply: FastifyReply): void {
  clear(reply, 'page')
}

/** Marks a browser that has seen a page. The browser sends the mark only with forms of this server. */
export function setMark (reply: FastifyReply): void {
  set(reply, 'form', '1', { sameSite: 'strict' })
}

export function hasMark (request: FastifyRequest): boolean {
  return read(request, 'form') === '1'
}

export function setVerifier (reply: FastifyReply, verifier: string): void {
  set(reply, 'verifier', verifier, { maxAge: FLOW_SECONDS })
}

export function verifierOf (request: FastifyRequest): string | undefined {
  return VERIFIER.exec(read(request, 'verifier') ?? '')?.[0]
}

export function setApp (reply: FastifyReply, { redirectTo: redirect_to, challenge }: AppRequest): void {
  const value = Buffer.from(JSON.stringify({ redirect_to, ...challenge })).toString('base64url')
  set(reply, 'app', value, { maxAge: FLOW_SECONDS })
}

/** Validates the value again, because the cookie is not signed. */
export function appOf (request: FastifyRequest): AppRequest | undefined {
  const value = read(request, 'app')
  if (value === undefined) return undefined
  try {
    const query: unknown = JSON.parse(Buffer.from(value, 'base64url').toString())
    return Value.Check(AppQuery, query) ? readAppRequest(request.server.identity.config, query) : undefined
  } catch {
    return undefined
  }
}

export function clearApp (reply: FastifyReply): void {
  clear(reply, 'app')
}

/**
 * The request of the front end that sent the person. Undefined when no front end did. A URL that is not allowed is
 * rejected, not replaced, because a stranger may have written the link.
 * @throws Refused
 */
export function readAppRequest (config: Config, query: Static<typeof AppQuery>): AppRequest | undefined {
  const { redirect_to: requested } = query
  if (requested === undefined) return undefined
  const redirectTo = allowedRedirect(config, requested)
  if (!URL.canParse(requested) || new URL(requested).href !== redirectTo) throw badApp()
  const challenge = challengeOf(query)
  // Without a challenge, anyone who sees the redirect URL could get the session.
  if (challenge.code_challenge === null) throw badApp()
  return { redirectTo, challenge }
}

/** Identifies a request. The button confirms only the request on its page, even if the cookie was replaced. */
export function tagOf ({ redirectTo, challenge: { code_challenge } }: AppRequest): string {
  return hash('sha256', `${code_challenge} ${redirectTo}`, 'base64url')
}

function challengeOf (query: Static<typeof AppQuery>): Challenge {
  try {
    return readChallenge(query)
  } catch {
    throw badApp()
  }
}

function badApp (): Refused {
  return new Refused(400, 'APPLICAZIONE_NON_VALIDA')
}

function set (reply: FastifyReply, name: string, value: string, more: CookieSerializeOptions = {}): void {
  const { nameOf, attributes } = ownCookies(reply.server.identity.config.PUBLIC_URL)
  // Lax, so that a link from another site opens the page as the signed-in person.
  reply.setCookie(nameOf(name), value, { ...attributes, sameSite: 'lax', ...more })
}

function clear (reply: FastifyReply, name: string): void {
  const { nameOf, attributes } = ownCookies(reply.server.identity.config.PUBLIC_URL)
  reply.clearCookie(nameOf(name), { ...attributes, sameSite: 'lax' })
}

function read ({ server, headers: { cookie = '' } }: FastifyRequest, name: string): string | undefined {
  return onlyValue(cookie, ownCookies(server.identity.config.PUBLIC_URL).nameOf(name))
}

function mac ({ identity: { keys } }: FastifyInstance, id: string): Buffer {
  return createHmac('sha256', keys.derive('page-session')).update(id).digest()
}
