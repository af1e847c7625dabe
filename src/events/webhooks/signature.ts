import { createHmac, randomBytes } from 'node:crypto'

/* Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new secret, in the form in which receivers are told. */
export function newSecret (): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

export interface Signed { id: string, at: Date, body: string }

/** The headers of a message: with each secret one signature, so that a receiver may know either. */
export function signatureHeaders ({ id, at, body }: Signed, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const sign = (secret: string) => createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' ')
  }
}
