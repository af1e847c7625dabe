import type { TestApp } from '#test/helper.ts'
import { createPerson } from '#test/identity/shared-password.ts'

export const PASSWORD = 'CANARY-una-frase-lunga'
export const EMAIL = 'anna@example.org'

/** Creates a person who can sign in with `PASSWORD`. */
export const account = (server: TestApp) => createPerson(server, EMAIL, { password: PASSWORD })

interface KeyRow { id: string, name: string, scopes: string[], days: number, revoked: boolean }

/** The server's keys, in order of creation. */
export async function keysOf ({ app }: TestApp): Promise<KeyRow[]> {
  return app.sql<KeyRow[]>`
    select id, name, array_to_json(scopes) as scopes, extract(days from expires_at - created_at)::int as days,
      revoked_at is not null as revoked
    from api_keys order by created_at`
}
