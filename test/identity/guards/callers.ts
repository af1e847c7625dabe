import { eq } from 'drizzle-orm'
import { api_keys, users } from '#drizzle/tables/identity.ts'
import { SCOPES, type Scope } from '#schemas/api-key.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { endSessions } from '#src/identity/sign-in/person-sessions.ts'
import { deleteUser } from '#src/identity/people/users.ts'
import type { Access } from '#src/http/auth.ts'
import type { Role } from '#src/identity/people/roles.ts'
import { API_KEY, signIn, type TestApp } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'

/** The properties of a guarded route. */
export interface Guarded {
  access: Access
  scope: Scope
  /** Whether an API key is accepted as a bearer token. */
  bearerKey: boolean
}

/** A caller, and the routes that accept the caller. */
export interface Caller {
  name: string
  headers: Record<string, string>
  /** Appended to the URL. */
  query?: string
  mayCall (route: Guarded): boolean
}

/** Handlers of routes with access `optional` check the credential themselves. */
const isOpen = (access: Access) => access === 'public' || access === 'optional'
const nobody = ({ access }: Guarded) => isOpen(access)
const byKeyOrNobody = ({ access, bearerKey }: Guarded) => isOpen(access) || bearerKey
const anyKey = ({ access }: Guarded) => isOpen(access) || access === 'auth'
const operator = ({ access }: Guarded) => access !== 'admin' && access !== 'cookie'
const admin = ({ access }: Guarded) => access !== 'cookie'
const waiting = ({ access }: Guarded) => isOpen(access) || access === 'user'
const keyOf = (isAdmin: boolean, scopes: readonly Scope[]) => ({ access, scope }: Guarded) => (
  isOpen(access) || ((access === 'auth' || (access === 'admin' && isAdmin)) && scopes.includes(scope)))

/** Every kind of credential that a caller may present. */
export async function callers (test: TestApp): Promise<Caller[]> {
  const { app } = test
  const { backendKey } = app.identity.directory.clientConfig
  const person = async (name: string, role: Role = 'operator') => {
    const { access_token: token, user } = await signIn(app, name, role)
    return { id: user.id, token }
  }
  const spelt = async (name: string, role: string) => {
    const { id, token } = await person(name)
    await app.db.update(users).set({ app_metadata: { role } }).where(eq(users.id, id))
    return token
  }
  const key = async (user_id: string, scopes: readonly Scope[]) =>
    await mintKey(app.db, app.identity.apiKeys, user_id, { scopes: scopes.join(',') })

  const anna = await person('anna')
  const ada = await person('ada', 'admin')
  const [gone, banned, deleted, claiming] = [
    await person('uscita'), await person('bandito'), await person('eliminato'), await person('pretendente')
  ]
  await app.db.transaction(async (tx) => {
    await endSessions(tx, gone.id, 'global')
    await deleteUser(tx, deleted.id)
    await tx.update(users).set({ banned_until: new Date(Date.now() + 3_600_000) }).where(eq(users.id, banned.id))
    await tx.update(users).set({ user_metadata: { role: 'admin', is_admin: true, app_metadata: { role: 'admin' } } })
      .where(eq(users.id, claiming.id))
  })
  const [revoked, expired, ofBanned] = [
    await key(anna.id, SCOPES), await key(anna.id, SCOPES), await key(banned.id, SCOPES)
  ]
  await app.db.update(api_keys).set({ revoked_at: new Date() }).where(eq(api_keys.id, revoked.id))
  await app.db.update(api_keys).set({ expires_at: new Date(0) }).where(eq(api_keys.id, expired.id))
  const withKey = async (name: string, user_id: string, scopes: readonly Scope[], isAdmin = false): Promise<Caller> => (
    { name, headers: { 'x-api-key': (await key(user_id, scopes)).apiKey }, mayCall: keyOf(isAdmin, scopes) })

  return [
    { name: 'nobody', headers: {}, mayCall: nobody },
    { name: 'a wrong key', headers: { 'x-api-key': 'sbagliata' }, mayCall: nobody },
    { name: 'a wrong key in the query', headers: {}, query: 'api_key=sbagliata', mayCall: nobody },
    { name: 'the server key as bearer', headers: bearer(API_KEY), mayCall: byKeyOrNobody },
    { name: 'Basic', headers: { authorization: `Basic ${btoa(`admin:${API_KEY}`)}` }, mayCall: nobody },
    { name: 'a bearer that is no token', headers: bearer('a.b.c'), mayCall: nobody },
    { name: 'a token with a broken signature', headers: bearer(anna.token.slice(0, -4)), mayCall: nobody },
    { name: 'the anonymous key as bearer', headers: { ...bearer(backendKey), apikey: backendKey }, mayCall: nobody },
    {
      name: 'a token in another header',
      headers: { 'x-access-token': ada.token, cookie: `sb-access-token=${ada.token}` },
      mayCall: nobody
    },
    { name: 'valid key, invalid token', headers: { ...bearer('a.b.c'), 'x-api-key': API_KEY }, mayCall: nobody },
    {
      name: 'valid token, invalid key',
      headers: { ...bearer(ada.token), 'x-api-key': 'sbagliata' },
      mayCall: nobody
    },
    {
      name: "a token with another person's key",
      headers: { ...bearer(ada.token), 'x-api-key': (await key(anna.id, SCOPES)).apiKey },
      mayCall: nobody
    },
    { name: 'a session that was ended', headers: bearer(gone.token), mayCall: nobody },
    { name: 'a banned person', headers: bearer(banned.token), mayCall: nobody },
    { name: 'a deleted person', headers: bearer(deleted.token), mayCall: nobody },
    { name: 'a revoked key', headers: { 'x-api-key': revoked.apiKey }, mayCall: nobody },
    { name: 'an expired key', headers: { 'x-api-key': expired.apiKey }, mayCall: nobody },
    { name: "a banned person's key", headers: { 'x-api-key': ofBanned.apiKey }, mayCall: nobody },
    { name: 'the server key', headers: { 'x-api-key': API_KEY }, mayCall: anyKey },
    { name: 'the server key in the query', headers: {}, query: `api_key=${API_KEY}`, mayCall: anyKey },
    {
      name: 'a person who waits for a role',
      headers: bearer((await person('attesa', 'pending')).token),
      mayCall: waiting
    },
    { name: 'a person with another role', headers: bearer(await spelt('redattrice', 'editor')), mayCall: waiting },
    { name: 'a role in capitals', headers: bearer(await spelt('maiuscola', 'Admin')), mayCall: waiting },
    { name: 'an operator', headers: bearer(anna.token), mayCall: operator },
    { name: 'an operator who claims to be more', headers: bearer(claiming.token), mayCall: operator },
    { name: 'an administrator', headers: bearer(ada.token), mayCall: admin },
    {
      name: 'the service key',
      headers: bearer(await test.token({ service: true })),
      mayCall: ({ access }) => access !== 'cookie' && access !== 'user'
    },
    await withKey("an operator's key", anna.id, SCOPES),
    await withKey("an administrator's key", ada.id, SCOPES, true),
    ...(await Promise.all(
      SCOPES.map(async (scope) => await withKey(`an administrator's key for ${scope} alone`, ada.id, [scope], true))
    ))
  ]
}
