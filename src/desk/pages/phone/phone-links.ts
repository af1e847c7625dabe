import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findVisitor } from '#src/identity/index.ts'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { ownCookies } from '#src/lib/local-paths.ts'
import type { Clock } from '#src/lib/time.ts'
import { deskOf, type Desk } from '../desk-page.ts'
import type { LinkGuest } from './link-guest.ts'

/** The phone's page. It moves the link's secret to a cookie, so that no later URL contains it. */
export const PHONE = '/telefono'

const MINUTES = 5
const LIFETIME_MS = MINUTES * 60_000
/** Each refused photo counts in the rate limit of the person who made the link. */
const MAX_REFUSALS = 10
const CONTEXT = 'phone-link'
const COOKIE = 'telefono'

/** A link with which a phone sends one photo of one guest's document, on behalf of the session that made it. */
export interface PhoneLink extends LinkGuest {
  /** Identifies the link. It is no secret. */
  id: string
  /** The number of refused photos. Each photo needs a new secret. */
  refusals: number
  session: string
  booking: number
  /** Milliseconds since the epoch. */
  until: number
}

/** A secret is used once, and a link sends one photo. The counters outlive the link. */
const USED = { name: 'phone-secret', max: 1, windowMs: 2 * LIFETIME_MS }
const DONE = { name: 'phone-link', max: 1, windowMs: 2 * LIFETIME_MS }
/** The document has another name than the guest had. */
const OTHER = { name: 'phone-other', max: 1, windowMs: 2 * LIFETIME_MS }

/** Links of phones: sealed, so that only this server can make or read them. The database counts their use. */
export function phoneLinks (app: FastifyInstance, clock: Clock) {
  const { keys, config: { PUBLIC_URL } } = app.identity
  const { nameOf, attributes } = ownCookies(PUBLIC_URL)
  const cookie = { ...attributes, sameSite: 'lax', maxAge: LIFETIME_MS / 1000 } as const

  function write (link: PhoneLink): string {
    return keys.seal(JSON.stringify(link), CONTEXT).toString('base64url')
  }

  /** The link of a secret, unless it has expired. */
  function read (secret: string): PhoneLink | undefined {
    try {
      const link = JSON.parse(keys.unseal(Buffer.from(secret, 'base64url'), CONTEXT).toString()) as PhoneLink
      return link.until > clock.now().getTime() ? link : undefined
    } catch {
      return undefined
    }
  }

  return {
    /** A new link for a guest, with its URL. */
    issue ({ visitor: { session } }: Desk, place: LinkGuest & { booking: number }): PhoneLink & { url: string } {
      const until = clock.now().getTime() + LIFETIME_MS
      const link = { id: randomBytes(12).toString('base64url'), refusals: 0, session: session.id, ...place, until }
      return { ...link, url: `${PUBLIC_URL.replace(/\/$/, '')}${PHONE}?codice=${write(link)}` }
    },

    /** Puts the secret of a URL into the cookie. Returns whether it is valid. */
    enter (reply: FastifyReply, secret: string): boolean {
      const isValid = read(secret) !== undefined
      if (isValid) reply.setCookie(nameOf(COOKIE), secret, cookie)
      return isValid
    },

    /**
     * The link of the phone, and a desk of the person who made it. Undefined when the link has expired, is used or had
     * too many refusals, or when that person's session or rights have ended.
     */
    async open (request: FastifyRequest, reply: FastifyReply): Promise<{ link: PhoneLink, desk: Desk } | undefined> {
      const link = read(onlyValue(request.headers.cookie ?? '', nameOf(COOKIE)) ?? '')
      if (link === undefined || link.refusals >= MAX_REFUSALS) return undefined
      if (await app.checkAttempts(USED, [link.id, String(link.refusals)]) > 0) return undefined
      const visitor = await findVisitor(request, link.session)
      const { caller } = visitor ?? {}
      if (visitor === undefined || caller?.pending === true || caller?.lacks !== undefined) return undefined
      return { link, desk: deskOf(request, reply, visitor) }
    },

    /** Marks the secret as used. Returns whether this request is the first one. */
    take: async ({ id, refusals }: PhoneLink) => await app.countAttempt(USED, [id, String(refusals)]) === 0,

    /** Gives the phone a new secret after a refused photo. The link's expiry stays the same. */
    renew (reply: FastifyReply, link: PhoneLink): void {
      reply.setCookie(nameOf(COOKIE), write({ ...link, refusals: link.refusals + 1 }), cookie)
    },

    /** Ends the link after its photo was saved. */
    async finish (reply: FastifyReply, { id }: PhoneLink, isOther: boolean): Promise<void> {
      if (isOther) await app.countAttempt(OTHER, [id])
      await app.countAttempt(DONE, [id])
      reply.clearCookie(nameOf(COOKIE), attributes)
    },

    /** Whether the phone has saved a photo with this link. */
    isDone: async (id: string): Promise<boolean> => await app.checkAttempts(DONE, [id]) > 0,

    /** Whether that photo was of a document with another name. */
    isOther: async (id: string): Promise<boolean> => await app.checkAttempts(OTHER, [id]) > 0
  }
}
