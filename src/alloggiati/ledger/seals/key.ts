import { createHmac } from 'node:crypto'
import type { Keys } from '#src/lib/secrets.ts'

/** The block length of SHA-256 in bytes: RFC 2104 pads the key to it. */
const BLOCK = 64
const LABEL = 'ledger/seal'

/** The seal of a text, as the function `sigillo_di` makes it. */
export function sealOf (keys: Keys): (text: string) => Buffer {
  const key = keys.derive(LABEL)
  return (text) => createHmac('sha256', key).update(text).digest()
}

/**
 * The settings with which a database session seals what it writes to the ledger: the two key blocks of HMAC, as
 * hexadecimal. They are given at the connection and are part of no statement, so no log holds them; a session sees its
 * own alone. What is sealed is spelled by the other settings.
 */
export function sealSettings (keys: Keys): Record<string, string> {
  const block = Buffer.concat([keys.derive(LABEL)], BLOCK)
  const padded = (pad: number) => Buffer.from(block.map((byte) => byte ^ pad)).toString('hex')
  return { 'locanda.sigillo_i': padded(0x36), 'locanda.sigillo_o': padded(0x5c), bytea_output: 'hex' }
}
