import type { FastifyInstance } from 'fastify'
import type { TestApp } from '#test/helper.ts'
import { bearer } from './requests.ts'

/** The password of the users whom tests create. */
export const PASSWORD = 'una-frase-lunga-e-mia'

let made: Promise<string> | undefined

/** Fields for a request that creates a person. The hash is shared, because hashing takes as long as a sign-in. */
export async function withPassword ({ identity }: FastifyInstance): Promise<{ password_hash: string }> {
  made ??= identity.passwords.hash(PASSWORD)
  return { password_hash: await made }
}

/** Creates a confirmed operator with `PASSWORD`, as an administrator's client does. */
export async function createPerson (
  { app, token }: Pick<TestApp, 'app' | 'token'>, email: string, changes: object = {}
): Promise<{ id: string, email: string }> {
  const password = 'password' in changes ? {} : await withPassword(app)
  const created = await app.inject({
    method: 'POST',
    url: '/auth/v1/admin/users',
    headers: bearer(await token({ service: true })),
    payload: { email, ...password, email_confirm: true, app_metadata: { role: 'operator' }, ...changes }
  })
  if (created.statusCode !== 200) throw new Error(created.body)
  return created.json<{ id: string, email: string }>()
}
