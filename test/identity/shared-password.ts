import type { FastifyInstance } from 'fastify'

/** The password of the people whom tests create. */
export const PASSWORD = 'una-frase-lunga-e-mia'

let made: Promise<string> | undefined

/** For the body of a request that creates a person: one shared hash, because hashing takes as long as a sign-in. */
export async function withPassword ({ identity }: FastifyInstance): Promise<{ password_hash: string }> {
  made ??= identity.passwords.hash(PASSWORD)
  return { password_hash: await made }
}
