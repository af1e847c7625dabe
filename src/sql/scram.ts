import { createHmac, hash, pbkdf2Sync, randomBytes } from 'node:crypto'

const ITERATIONS = 4096

/**
 * A password as PostgreSQL keeps it (RFC 5803): a server that logs statements does not log the password. The password
 * must be ASCII: it is not normalized.
 */
export function scramVerifier (password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = hash('sha256', keyed('Client Key'), 'base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`
}
