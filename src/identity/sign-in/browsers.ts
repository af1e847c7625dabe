import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { ownCookies } from '#src/lib/own-paths.ts'

const VALUE = /^[\w-]{43}$/
/** As long as the links of mails are good. */
const SECONDS = 24 * 3600

/**
 * By a cookie, which no page can read, a browser is known again: the one that opens a mail's link may be another than
 * the one that asked for the mail.
 */
export function browsers ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>) {
  const { nameOf, attributes } = ownCookies(PUBLIC_URL)
  const name = nameOf('browser')
  const read = ({ headers: { cookie = '' } }: FastifyRequest) => VALUE.exec(onlyValue(cookie, name) ?? '')?.[0]

  return {
    /** The digest by which a browser is known again, and what gives it the cookie; one that has a cookie keeps it. */
    remember (request: FastifyRequest) {
      const value = read(request) ?? randomBytes(32).toString('base64url')
      return {
        digest: digestOf(value),
        // Lax: the link of a mail leads here from another site.
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
