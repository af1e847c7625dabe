import type { Keys } from '#src/lib/secrets.ts'

/** The secret of an app as it is kept: sealed, for this factor alone. */
export function sealSecret (keys: Keys, factorId: string, secret: Buffer): Buffer {
  return keys.seal(secret, contextOf(factorId))
}

export function unsealSecret (keys: Keys, factorId: string, sealed: Buffer): Buffer {
  return keys.unseal(sealed, contextOf(factorId))
}

function contextOf (factorId: string): string {
  return `factor/${factorId}`
}
