import { createHmac, sign, type KeyLike } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { machineSecret } from '#src/identity/tokens/machine-tokens.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { signIn } from '#test/helper.ts'
import { claimsOf } from '#test/identity/token-parts.ts'

export interface Parts {
  header?: Record<string, unknown>
  /** Undefined removes a claim. */
  claims?: Record<string, unknown>
}

/** Computes the third part from the first two. */
export type Signer = (signed: string) => string

export const hmac =
  (key: KeyLike, hash = 'sha256'): Signer =>
    (signed) => createHmac(hash, key as Buffer).update(signed).digest('base64url')
export const ecdsa = (pem: string, hash = 'sha256', encoding: 'ieee-p1363' | 'der' = 'ieee-p1363'): Signer =>
  (signed) => sign(hash, Buffer.from(signed), { key: pem, dsaEncoding: encoding }).toString('base64url')
export const rsa = (pem: string): Signer => (signed) => sign('sha256', Buffer.from(signed), pem).toString('base64url')

/** Returns signers with the server's keys and a real session, so that tests can sign any claims. */
export async function workshop (app: FastifyInstance, master: Buffer) {
  const { signingKeys, issuer } = app.identity.signer
  const { kid, privatePem } = await signingKeys.current()
  const publicPem = (await signingKeys.find(kid))!
  const victim = await signIn(app, 'vittima', 'operator')
  const other = await signIn(app, 'altra', 'admin')
  const secret = machineSecret(createKeys(master))
  const own = claimsOf(victim.access_token)

  return {
    kid,
    publicPem,
    privatePem,
    secret,
    issuer,
    victim,
    other,
    own,
    othersClaims: claimsOf(other.access_token),
    /** A user's token, which is valid without `parts`. */
    person: ({ header, claims }: Parts = {}, signer: Signer = ecdsa(privatePem)) =>
      compact({ alg: 'ES256', typ: 'JWT', kid, ...header }, { ...own, ...claims }, signer),
    /** A machine's token. Without `parts` it has the claims of the service key. */
    machine: ({ header, claims }: Parts = {}, signer: Signer = hmac(secret)) => {
      const now = Math.floor(Date.now() / 1000)
      return compact(
        { alg: 'HS256', typ: 'JWT', ...header },
        { iss: issuer, role: 'service_role', iat: now, exp: now + 3600, ...claims },
        signer
      )
    }
  }
}

export type Workshop = Awaited<ReturnType<typeof workshop>>

/** Signs exactly these texts, which may be unusual JSON. */
export function compactText (header: string, claims: string, signer: Signer): string {
  const signed = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return `${signed}.${signer(signed)}`
}

function compact (header: object, claims: object, signer: Signer): string {
  return compactText(JSON.stringify(header), JSON.stringify(claims), signer)
}
