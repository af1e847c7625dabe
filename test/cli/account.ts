import type { TestApp } from '#test/helper.ts'

export const PASSWORD = 'CANARY-una-frase-lunga'
export const EMAIL = 'anna@example.org'

/** Creates a person who can sign in with `PASSWORD`, as an administrator's client does. */
export async function account ({ app, token }: TestApp, changes: object = {}): Promise<void> {
  const created = await app.inject({
    method: 'POST',
    url: '/auth/v1/admin/users',
    headers: { authorization: `Bearer ${await token({ service: true })}` },
    payload: { email: EMAIL, password: PASSWORD, email_confirm: true, app_metadata: { role: 'operator' }, ...changes }
  })
  if (created.statusCode !== 200) throw new Error(created.body)
}

export interface KeyRow { id: string, name: string, scopes: string[], days: number, revoked: boolean }

/** The server's keys, in order of creation. */
export async function keysOf ({ app }: TestApp): Promise<KeyRow[]> {
  return app.sql<KeyRow[]>`
    select id, name, array_to_json(scopes) as scopes, extract(days from expires_at - created_at)::int as days,
      revoked_at is not null as revoked
    from api_keys order by created_at`
}
