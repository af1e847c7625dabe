import type { FastifyInstance } from 'fastify'
import { Secret, TOTP } from 'otpauth'
import type { Client, Person, Provider } from '#test/identity/protocol/client.ts'

/** The code that an app shows now, or `steps` half minutes later. */
export function codeOf (secret: string, steps = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })
}

/** Allows the code of this half minute to be used again, so that tests need not wait for the next code. */
export async function forgetCodes ({ sql }: FastifyInstance): Promise<void> {
  await sql`update factors set last_step = null`
}

export interface App {
  id: string
  secret: string
  /** The code that verified the app at its enrolment. */
  code: string
}

/** Enrols an app for the client's signed-in person, and verifies it. Afterwards the client is at `aal2`. */
export async function enrolApp ({ auth }: Client, friendlyName?: string): Promise<App> {
  const { data, error } = await auth.mfa.enroll({ factorType: 'totp', friendlyName })
  if (error) throw error
  const { id, totp: { secret } } = data
  const app = { id, secret, code: codeOf(secret) }
  const proven = await auth.mfa.challengeAndVerify({ factorId: id, code: app.code })
  if (proven.error) throw proven.error
  return app
}

/** Verifies a code of an app that was already enrolled. */
export async function prove (
  server: Pick<Provider, 'app'>, { auth }: Client, { id, secret }: Pick<App, 'id' | 'secret'>
): Promise<void> {
  await forgetCodes(server.app)
  const { error } = await auth.mfa.challengeAndVerify({ factorId: id, code: codeOf(secret) })
  if (error) throw error
}

/** A person with an app, and the person's client at `aal2`. */
export async function personWithApp (
  server: Provider,
  changes: object = {}
): Promise<{ person: Person, client: Client, app: App }> {
  const person = await server.person(changes)
  const client = await server.signedIn(person)
  return { person, client, app: await enrolApp(client) }
}
