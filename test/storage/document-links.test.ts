import t from 'tap'
import type { MintedKey } from '#schemas/api-key.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { createLinks } from '#src/storage/links.ts'
import { JPEG, store } from './samples.ts'

const test = await build(t)
const { app, masterKey } = test
const NAME = '12/0/front.jpg'
const PROTOCOL = `/storage/v1/object/sign/documents/${NAME}`
const EXPIRED = { code: 'InvalidJWT', message: '"exp" claim timestamp check failed' }

type Headers = Record<string, string>
const bearer = ({ access_token }: { access_token: string }) => ({ authorization: `Bearer ${access_token}` })
const admin = bearer(await signIn(app, 'capo', 'admin'))
const KEY = { 'x-api-key': API_KEY }

/** The three requests that make a link, each with its path under this server. */
const WAYS: Readonly<Record<string, (headers: Headers) => Promise<string>>> = {
  async 'signed-url' (headers) {
    const { signedUrl } = (await app.inject({ url: `/api/storage/signed-url?bucket=documents&file=${NAME}`, headers }))
      .json<{ signedUrl: string }>()
    return signedUrl.slice(signedUrl.indexOf('/storage/v1'))
  },
  async sign (headers) {
    const made = await app.inject({ method: 'POST', url: PROTOCOL, headers, payload: { expiresIn: 3600 } })
    return `/storage/v1${made.json<{ signedURL: string }>().signedURL}`
  },
  async 'sign many' (headers) {
    const payload = { expiresIn: 3600, paths: [NAME, '12/0/back.jpg'] }
    const made = await app.inject({ method: 'POST', url: '/storage/v1/object/sign/documents', headers, payload })
    const [first, second] = made.json<[{ signedURL: string }, { signedURL: null }]>()
    t.equal(second.signedURL, null)
    return `/storage/v1${first.signedURL}`
  }
}

const claimsOf = (url: string) =>
  JSON.parse(Buffer.from(url.split('.').at(-2)!, 'base64url').toString()) as { iat: number, exp: number }

async function revoke (method: 'POST' | 'PUT' | 'DELETE', url: string, headers: Headers, payload: object = {}) {
  const { statusCode, body } = await app.inject({ method, url, headers, payload })
  t.ok(statusCode < 300, `${method} ${url}: ${body}`)
}

/** Each way in which a person loses the credential with which a link was made. */
const LOSSES: readonly [title: string, how: (person: { id: string, session: Headers }) => Promise<void>][] = [
  ['signs out', ({ session }) => revoke('POST', '/auth/v1/logout', session)],
  ['revokes all sessions', ({ session }) => revoke('POST', '/api/sessions/revoke-all', session)],
  ['is banned', ({ id }) => revoke('PUT', `/auth/v1/admin/users/${id}`, admin, { ban_duration: '24h' })],
  ['is deleted', ({ id }) => revoke('DELETE', `/auth/v1/admin/users/${id}`, admin)],
  ['loses the role', ({ id }) =>
    revoke('PUT', `/auth/v1/admin/users/${id}`, admin, { app_metadata: { role: 'pending' } })]
]

await store(test, 'documents', NAME)

for (const [at, [title, lose]] of LOSSES.entries()) {
  t.test(`links to a guest's document are void once their issuer ${title}`, async (t) => {
    const signedIn = await signIn(app, `anna${at}`, 'operator')
    const session = bearer(signedIn)
    const { apiKey } = (await app.inject({ url: '/api/cli/auth/key', headers: session })).json<MintedKey>()
    const urls = []
    for (const [way, make] of Object.entries(WAYS)) {
      for (const headers of [session, { 'x-api-key': apiKey }]) {
        const url = await make(headers)
        const { iat, exp } = claimsOf(url)
        t.equal(exp - iat, 60, way)
        t.same((await app.inject(url)).rawPayload, JPEG, way)
        const isByKey = headers !== session
        // The keys of a person stay valid after the person signs out.
        if (!(isByKey && title === 'signs out')) urls.push(url)
      }
    }
    await lose({ id: signedIn.user.id, session })
    for (const url of urls) t.match((await app.inject(url)).json(), EXPIRED)
  })
}

t.test('a link made with a key is void once that key is revoked', async (t) => {
  const session = bearer(await signIn(app, 'bruno', 'operator'))
  const { apiKey, id } = (await app.inject({ url: '/api/cli/auth/key', headers: session })).json<MintedKey>()
  const url = await WAYS.sign!({ 'x-api-key': apiKey })
  t.equal((await app.inject(url)).statusCode, 200)
  await revoke('DELETE', `/api/v1/keys/${id}`, session)
  t.match((await app.inject(url)).json(), EXPIRED)
  t.equal((await app.inject(await WAYS.sign!(session))).statusCode, 200, 'the session continues')
})

t.test('a link to a guest\'s document without an issuer is void', async (t) => {
  const file = await store(test, 'documents', '13/0/front.jpg')
  const { token } = createLinks(createKeys(Buffer.from(masterKey, 'base64'))).signDownload(file, 60)
  t.match((await app.inject(`/storage/v1/object/sign/documents/13/0/front.jpg?token=${token}`)).json(), EXPIRED)
})

t.test('links to other files keep their lifetime', async (t) => {
  await store(test, 'letters', 'l1.pdf')
  const signed = bearer(await signIn(app, 'carla', 'operator'))
  const made = await app.inject({
    method: 'POST', url: '/storage/v1/object/sign/letters/l1.pdf', headers: signed, payload: { expiresIn: 3600 }
  })
  const url = `/storage/v1${made.json<{ signedURL: string }>().signedURL}`
  const { iat, exp } = claimsOf(url)
  t.equal(exp - iat, 3600)
  t.equal((await app.inject(url)).statusCode, 200)
})

t.test('the audit log records each link to a guest\'s document, and each access', async (t) => {
  const name = '14/1/back.jpg'
  const file = await store(test, 'documents', name)
  const signedIn = await signIn(app, 'dora', 'operator')
  const actor = `user:${signedIn.user.id}`
  const headers = bearer(signedIn)
  const sign = await app.inject({
    method: 'POST', url: `/storage/v1/object/sign/documents/${name}`, headers, payload: { expiresIn: 30 }
  })
  await app.inject(`/storage/v1${sign.json<{ signedURL: string }>().signedURL}`)
  for (const url of [
    `/storage/v1/object/documents/${name}`, `/storage/v1/object/authenticated/documents/${name}`,
    `/api/storage/documents/${name}`, '/api/documents/14/1/back'
  ]) t.equal((await app.inject({ url, headers })).statusCode, 200, url)
  await app.inject({ method: 'HEAD', url: `/api/storage/documents/${name}`, headers })
  const rows = await app.sql`select actor, action, object, ip, details from audit_log
    where actor = ${actor} and action like 'documento_%' order by id`
  const read = {
    actor, action: 'documento_letto', object: `file:${file.id}`, ip: '127.0.0.1', details: { file: `documents/${name}` }
  }
  t.same([...rows], [
    { ...read, action: 'documento_collegato', object: 'bucket:documents', details: { file: [name], secondi: 30 } },
    { ...read, details: { ...read.details, link: true } },
    read, read, read, read
  ])
})

t.test('an image of a guest\'s document is neither sent nor linked when the audit log cannot be written', async (t) => {
  const url = await WAYS.sign!(KEY)
  await app.sql`alter table audit_log add constraint chiuso check (action not like 'documento_%') not valid`
  t.teardown(() => app.sql`alter table audit_log drop constraint if exists chiuso`)
  for (const [path, headers] of [[url, {}], ['/api/documents/12/0/front', KEY]] as [string, Headers][]) {
    const { statusCode, rawPayload } = await app.inject({ url: path, headers })
    t.equal(statusCode, 503)
    t.notOk(rawPayload.includes(JPEG))
  }
  const made = await app.inject({ method: 'POST', url: PROTOCOL, headers: KEY, payload: { expiresIn: 60 } })
  t.equal(made.statusCode, 503)
  t.notMatch(made.body, 'token=')
})
