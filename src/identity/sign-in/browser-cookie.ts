import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { ownCookies } from '#src/lib/local-paths.ts'

const VALUE = /^[\w-]{43}$/
/** The same lifetime as the links in mails. */
const SECONDS = 24 * 3600

/**
 * Recognizes a browser by an HttpOnly cookie, because a person may open a mail's link in another browser than the one
 * that requested the mail.
 */
export function browserCookie ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>) {
  const { nameOf, attributes } = ownCookies(PUBLIC_URL)
  const name = nameOf('browser')
  const read = ({ headers: { cookie = '' } }: FastifyRequest) => VALUE.exec(onlyValue(cookie, name) ?? '')?.[0]

  return {
    /** The digest that identifies the browser, and a function that sets its cookie. An existing cookie is kept. */
    remember (request: FastifyRequest) {
      const value = read(request) ?? randomBytes(32).toString('base64url')
      return {
        digest: digestOf(value),
        // Lax, because another site may contain the mail's link to this server.
        giveCookie (reply: FastifyReply) {
          reply.setCookie(name, value, { ...attributes, sameSite: 'lax', maxAge: SECONDS })
        }
      }
    },
    isSame (request: FastifyRequest, digest: Buffer): boolean {
      const value = read(request)
      return value !== undefined && timingSafeEqual(digestOf(value), digest)
    }
  }
}

function digestOf (value: string): Buffer {
  return hash('sha256', value, 'buffer')
}
