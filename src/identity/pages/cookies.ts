import { createHmac, timingSafeEqual } from 'node:crypto'
import { Value } from '@sinclair/typebox/value'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { ownCookies } from '#src/lib/own-paths.ts'
import type { IdentityOptions } from '../options.ts'
import { AppQuery, readAppRequest, type AppRequest } from './app-request.ts'

/** The id of a session, and the HMAC-SHA256 that says that this installation has given it to a browser. */
const FORM = /^([0-9a-f-]{36})\.([0-9a-f]{64})$/
const VERIFIER = /^[\w-]{43}$/
/** As long as a sign-in through a provider, or for a front end, may take. */
const FLOW_SECONDS = 900

/** The cookies of the pages. The API and the protocol take none of them. */
export interface PageCookies {
  /** The browser has this session from now on, until it is closed. */
  setSession (reply: FastifyReply, sessionId: string): void
  sessionOf (request: FastifyRequest): string | undefined
  clearSession (reply: FastifyReply): void
  /** Marks a browser that has seen a page: it sends the mark with our own forms, and with those of no other site. */
  setMark (reply: FastifyReply): void
  hasMark (request: FastifyRequest): boolean
  /** The secret of a sign-in through a provider (PKCE). */
  setVerifier (reply: FastifyReply, verifier: string): void
  verifierOf (request: FastifyRequest): string | undefined
  /** The front end that has sent the person to sign in. */
  setApp (reply: FastifyReply, asked: AppRequest): void
  appOf (request: FastifyRequest): AppRequest | undefined
  clearApp (reply: FastifyReply): void
}

export function pageCookies ({ config, keys }: IdentityOptions): PageCookies {
  const secret = keys.derive('page-session')
  const { nameOf, attributes } = ownCookies(config.PUBLIC_URL)
  // Lax: a link of another site leads to the pages, and the person is signed in there.
  const session = { ...attributes, sameSite: 'lax' } as const
  const mac = (id: string) => createHmac('sha256', secret).update(id).digest()
  const read = ({ headers: { cookie = '' } }: FastifyRequest, name: string) => onlyValue(cookie, nameOf(name))

  return {
    setSession: (reply, id) => { reply.setCookie(nameOf('session'), `${id}.${mac(id).toString('hex')}`, session) },
    sessionOf (request) {
      const [, id, presented] = FORM.exec(read(request, 'session') ?? '') ?? []
      if (id === undefined || presented === undefined) return undefined
      return timingSafeEqual(mac(id), Buffer.from(presented, 'hex')) ? id : undefined
    },
    clearSession: (reply) => { reply.clearCookie(nameOf('session'), session) },
    setMark: (reply) => { reply.setCookie(nameOf('form'), '1', { ...attributes, sameSite: 'strict' }) },
    hasMark: (request) => read(request, 'form') === '1',
    setVerifier (reply, verifier) {
      reply.setCookie(nameOf('verifier'), verifier, { ...session, maxAge: FLOW_SECONDS })
    },
    verifierOf: (request) => VERIFIER.exec(read(request, 'verifier') ?? '')?.[0],
    setApp (reply, { redirectTo: redirect_to, challenge }) {
      const value = Buffer.from(JSON.stringify({ redirect_to, ...challenge })).toString('base64url')
      reply.setCookie(nameOf('app'), value, { ...session, maxAge: FLOW_SECONDS })
    },
    appOf: (request) => readApp(config, read(request, 'app')),
    clearApp: (reply) => { reply.clearCookie(nameOf('app'), session) }
  }
}

/** Judged once more: others may have written a cookie. */
function readApp (config: Config, value: string | undefined): AppRequest | undefined {
  if (value === undefined) return undefined
  try {
    const query: unknown = JSON.parse(Buffer.from(value, 'base64url').toString())
    return Value.Check(AppQuery, query) ? readAppRequest(config, query) : undefined
  } catch {
    return undefined
  }
}
