import type { FastifyInstance } from 'fastify'

/** The password of the people whom tests make. */
export const PASSWORD = 'una-frase-lunga-e-mia'

let made: Promise<string> | undefined

/** For the body of a request that makes somebody: one hash for all of them, for it takes as long as a sign-in. */
export async function withPassword ({ identity }: FastifyInstance): Promise<{ password_hash: string }> {
  made ??= identity.passwords.hash(PASSWORD)
  return { password_hash: await made }
}
