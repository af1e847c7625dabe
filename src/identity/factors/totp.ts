import { randomBytes, timingSafeEqual } from 'node:crypto'
import { and, eq } from 'drizzle-orm'
import { Secret, TOTP } from 'otpauth'
import { factors } from '#drizzle/tables/identity.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { plainCode } from '#src/lib/typed-code.ts'
import type { Executor } from '#src/database/connect.ts'
import type { User } from '../people/find-users.ts'
import type { IdentityOptions } from '../identity-provider.ts'
import { isUuid } from '../uuid.ts'

/* TOTP codes (RFC 6238) with the parameters that every app supports. */

const SECRET_BYTES = 20
const PERIOD_S = 30
const FORM = { algorithm: 'SHA1', digits: 6, period: PERIOD_S } as const
/** Tolerance in time steps, because a phone's clock may differ by half a minute, and typing takes time. */
const WINDOW = 1
const MAX_LABEL = 100

export function newSecret (): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** The issuer that the app shows by default. */
export function defaultIssuer ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): string {
  return new URL(PUBLIC_URL).host
}

/** An enrolment, as a secret to type, as a link, and as a QR code of the link. */
interface Enrolment { secret: string, uri: string, qr_code: string }

/** @param issuer the issuer that the app shows. @param label the account name that the app shows */
export async function enrolmentOf (secret: Buffer, issuer: string, label: string): Promise<Enrolment> {
  // Replaces lone surrogates, which a URI cannot contain, and cuts the label so that it fits into a QR code.
  const totp = new TOTP({
    ...FORM, secret: keyOf(secret), issuer: issuer.toWellFormed(), label: label.slice(0, MAX_LABEL).toWellFormed()
  })
  const uri = totp.toString()
  // Loaded on demand, because the library is large.
  const { toString } = await import('qrcode')
  const svg = await toString(uri, { type: 'svg', errorCorrectionLevel: 'M', margin: 2 })
  // The official client puts the SVG unescaped into a `data:` URL. A # would end that URL.
  const qr_code = svg.trim().replaceAll('#ffffff', 'white').replaceAll('#000000', 'black')
  return { secret: totp.secret.base32, uri, qr_code }
}

/**
 * The time step that a code belongs to.
 * @param after the latest step with a used code. Codes up to this step are rejected
 * @returns undefined for a wrong or used code
 */
export function matchStep (secret: Buffer, code: string, after: number | null, nowMs: number): number | undefined {
  const token = plainCode(code)
  // The library compares bytes, and throws when the text has more bytes than characters.
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = new TOTP({ ...FORM, secret: keyOf(secret) }).validate({ token, timestamp: nowMs, window: WINDOW })
  if (delta === null) return undefined
  const step = Math.floor(nowMs / 1000 / PERIOD_S) + delta
  return after !== null && step <= after ? undefined : step
}

function keyOf (secret: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(secret).buffer })
}

export function sealSecret (keys: Keys, factorId: string, secret: Buffer): Buffer {
  return keys.seal(secret, `factor/${factorId}`)
}

export function unsealSecret (keys: Keys, factorId: string, sealed: Buffer): Buffer {
  return keys.unseal(sealed, `factor/${factorId}`)
}

/**
 * Returns the data of a pending enrolment again, if the caller sends its secret. Another session must not get the
 * secret, because it may belong to a stranger with the password.
 * @param shown the secret that was shown before
 */
export async function pendingEnrolment (
  db: Executor,
  { config, keys }: IdentityOptions,
  { id: user_id, email }: Pick<User, 'id' | 'email'>,
  { id, secret: shown }: { id: string, secret: string }
): Promise<Enrolment | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await db.select({ secret: factors.secret }).from(factors)
    .where(and(eq(factors.id, id), eq(factors.user_id, user_id), eq(factors.status, 'unverified')))
  if (!found?.secret) return undefined
  const enrolment = await enrolmentOf(unsealSecret(keys, id, found.secret), defaultIssuer(config), email)
  const [known, given] = [Buffer.from(enrolment.secret), Buffer.from(shown)]
  return known.length === given.length && timingSafeEqual(known, given) ? enrolment : undefined
}
