import { readdirSync } from 'node:fs'
import { createClient } from '@supabase/supabase-js'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { buckets, objects } from '#drizzle/tables/storage.ts'
import { FILE_BYTES_MAX } from '#schemas/storage-upload.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { bearer } from '#test/identity/requests.ts'
import { listen } from '#test/raw.ts'

const { app, dataDir, token } = await build(t)
const base = `http://127.0.0.1:${await listen(app)}`
const { backendKey } = app.identity.directory.clientConfig
const KEY = { 'x-api-key': API_KEY }
const ADMIN = bearer(await token({ name: 'capo', role: 'admin' }))

const client = (authorization?: string) => createClient(base, backendKey, {
  auth: { persistSession: false, autoRefreshToken: false },
  global: { headers: authorization === undefined ? {} : { authorization } }
})
const anna = client(`Bearer ${await token({ name: 'anna' })}`).storage
const admin = client(ADMIN.authorization).storage

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT'
const send = (method: Method, path: string, headers: Record<string, string> = KEY, payload?: object | string) =>
  app.inject({ method, url: `/storage/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
const upload = async (path: string, headers: Record<string, string> = {}, method: Method = 'POST', content = 'ciao') =>
  (await send(method, `/object/${path}`, { ...KEY, 'content-type': 'text/plain', ...headers }, content))
const rowOf = async (name: string) =>
  (await app.db.select().from(objects).where(eq(objects.name, name)))[0]!

t.test('numbers and booleans may be written as texts, and a larger limit becomes the maximum', async (t) => {
  await upload('public/cifre/a.txt')
  const signed = await send('POST', '/object/sign/public/cifre/a.txt', KEY, { expiresIn: '60' })
  t.match(signed.json(), { signedURL: /token=/ })
  t.match((await send('POST', '/object/sign/public/cifre/a.txt', KEY, { expiresIn: 1e12 })).json(),
    { signedURL: /token=/ })
  const list = await send('POST', '/object/list/public', KEY, { prefix: 'cifre', limit: '100000', offset: '0' })
  t.match(list.json(), [{ name: 'a.txt' }])
  const json = { ...KEY, 'content-type': 'application/json; charset="utf-8"' }
  t.same((await send('POST', '/object/list/public', json, '{"prefix":"cifre","offset":1e400}')).json(), [])
  const asked = { prefix: 'cifre/', limit: 5e9, with_delimiter: 'true' }
  const parts = await send('POST', '/object/list-v2/public', KEY, asked)
  t.match(parts.json(), { hasNext: false, objects: [{ key: 'cifre/a.txt' }] })
  t.equal((await send('GET', '/bucket?limit=100000000000&offset=0')).statusCode, 200)
  const made = await send('POST', '/bucket', ADMIN, { name: 'testi', public: 'true', file_size_limit: '1000' })
  t.same(made.json(), { name: 'testi' })
  t.match((await admin.getBucket('testi')).data, { public: true, file_size_limit: 1000 })
  t.match((await send('POST', '/object/sign/public/cifre/a.txt', KEY, { expiresIn: 'presto' })).json(),
    { code: 'InvalidRequest', message: /expiresIn/ })
  const strict = await app.inject({
    method: 'POST', url: '/api/settings/maintenance', headers: ADMIN, payload: { enabled: 'false' }
  })
  t.equal(strict.statusCode, 400, 'the own API of this product accepts no text for a boolean')
})

t.test('media types may have parameters, even quoted ones, and a bucket ignores these', async (t) => {
  await admin.createBucket('tipi', { public: false, allowedMimeTypes: ['text/plain; charset=utf-8', 'image/*'] })
  for (const type of [
    'text/plain; charset="utf-8"', 'text/plain;charset=utf-8', 'text/plain; a="x;y=\\"z\\""; b=c',
    'image/svg+xml; charset=utf-8; profile="a b"; x=1; y=2'
  ]) {
    t.equal((await upload('tipi/a', { 'content-type': type, 'x-upsert': 'true' })).statusCode, 200, type)
    t.equal((await send('GET', '/object/tipi/a')).headers['content-type'], type)
  }
  for (const type of ['text/plain; a="b', 'text/plain; a="b"c', 'text/plain; a="\u0001"', 'text', '/']) {
    t.match((await upload('tipi/b', { 'content-type': type })).json(), { statusCode: '415' }, JSON.stringify(type))
  }
})

t.test('files of public buckets are read without a session, and others are missing', async (t) => {
  const { user } = await signIn(app, 'anna', 'operator')
  const { apiKey } = await mintKey(app.db, app.identity.apiKeys, user.id, { scopes: 'scrittura' })
  await admin.createBucket('vetrina', { public: true })
  await admin.createBucket('chiuso', { public: false })
  for (const bucket of ['vetrina', 'chiuso']) await upload(`${bucket}/a/b.txt`)
  const callers: Record<string, Record<string, string>> = {
    nobody: {},
    'the public key': { apikey: backendKey, ...bearer(backendKey) },
    'an expired token': bearer('a.b.c'),
    'a person without a role': bearer(await token({ name: 'attesa', role: 'pending' })),
    'a key without the scope': { 'x-api-key': apiKey }
  }
  for (const [who, headers] of Object.entries(callers)) {
    t.equal((await send('GET', '/object/vetrina/a/b.txt', headers)).body, 'ciao', who)
    t.equal((await send('HEAD', '/object/vetrina/a/b.txt', headers)).statusCode, 200, who)
    t.match((await send('GET', '/object/info/vetrina/a/b.txt', headers)).json(), { size: 4 }, who)
    t.match((await send('GET', '/object/vetrina/manca.txt', headers)).json(),
      { code: 'NoSuchKey', message: 'Object not found' }, who)
    t.not((await send('GET', '/object/chiuso/a/b.txt', headers)).statusCode, 200, who)
    t.not((await send('GET', '/object/info/chiuso/a/b.txt', headers)).statusCode, 200, who)
  }
  t.equal((await send('GET', '/object/chiuso/a/b.txt', callers['an expired token'])).statusCode, 401,
    'a client with an expired token learns that it must refresh it')
  const nobody = client().storage
  t.equal((await nobody.from('vetrina').exists('a/b.txt')).data, true)
  for (const bucket of ['vetrina', 'chiuso', 'nessuno', 'documents']) {
    t.equal((await nobody.from(bucket).exists('manca.txt')).data, false, bucket)
    t.match((await nobody.from(bucket).download('manca.txt')).error, { message: 'Object not found' }, bucket)
    t.match((await nobody.from(bucket).info('manca.txt')).error, { message: 'Object not found' }, bucket)
  }
})

t.test('a replaced file keeps its id, creation time and metadata, and the previous content is discarded', async (t) => {
  const files = anna.from('public')
  await files.upload('posto/a.txt', 'uno', { contentType: 'text/plain', metadata: { lingua: 'it' } })
  const first = await rowOf('posto/a.txt')
  const before = (await files.info('posto/a.txt')).data!
  const link = (await files.createSignedUrl('posto/a.txt', 60)).data!.signedUrl
  t.equal((await files.upload('posto/a.txt', 'due', { contentType: 'text/html', upsert: true })).data?.id, before.id)
  const after = (await files.info('posto/a.txt')).data!
  t.match(after, { id: before.id, createdAt: before.createdAt, metadata: { lingua: 'it' }, contentType: 'text/html' })
  t.not(after.version, before.version)
  t.equal(await (await files.download('posto/a.txt')).data?.text(), 'due')
  t.equal((await files.update('posto/a.txt', 'tre', { metadata: { lingua: 'en' } })).data?.id, before.id)
  t.match((await files.info('posto/a.txt')).data, { id: before.id, metadata: { lingua: 'en' } })
  t.equal((await fetch(link)).status, 400, 'a link to the previous content is void')
  const names = () => readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
  await until(() => !names().some((name) => name.includes(first.id)))
  await files.move('posto/a.txt', 'posto/b.txt')
  t.match((await files.info('posto/b.txt')).data, { id: before.id, createdAt: before.createdAt })
})

t.test('sixteen parallel upserts of one name all succeed, and the content of one remains', async (t) => {
  const responses = await Promise.all(Array.from({ length: 16 }, (_, n) =>
    upload('public/gara.txt', { 'x-upsert': 'true' }, 'POST', `testo ${n}`)))
  t.same(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
  t.equal(new Set(responses.map(({ json }) => json<{ Id: string }>().Id)).size, 1)
  const { object_id } = await rowOf('gara.txt')
  t.equal(responses[0]!.json<{ Id: string }>().Id, object_id)
  t.match((await send('GET', '/object/public/gara.txt')).body, /^testo \d+$/)
  t.equal(await app.db.$count(objects, eq(objects.name, 'gara.txt')), 1)
})

t.test('a list of buckets is complete', async (t) => {
  const names = Array.from({ length: 120 }, (_, n) => `molti-${n}`)
  await app.db.insert(buckets).values(names.map((id) => ({ id })))
  t.ok((await anna.listBuckets()).data!.length > 120)
  t.equal((await anna.listBuckets({ limit: 7 })).data?.length, 7)
})

t.test('a copy has the metadata of the file, or those in the request', async (t) => {
  const files = anna.from('public')
  const options = { contentType: 'text/plain', cacheControl: '60', metadata: { da: 'origine' } }
  await files.upload('copie/a.txt', 'uno', options)
  const copy = async (destinationKey: string, body: object, sent?: object) => {
    const headers: Record<string, string> =
      sent ? { 'x-metadata': Buffer.from(JSON.stringify(sent)).toString('base64') } : {}
    const fields = { bucketId: 'public', sourceKey: 'copie/a.txt', destinationKey, ...body }
    const response = await send('POST', '/object/copy', { ...KEY, 'x-upsert': 'true', ...headers }, fields)
    t.equal(response.statusCode, 200, response.body)
    return (await files.info(destinationKey)).data
  }
  const whole = { contentType: 'text/plain', cacheControl: 'max-age=60', metadata: { da: 'origine' } }
  t.match(await copy('copie/b.txt', { metadata: { mimetype: 'text/html' } }, { da: 'altro' }), whole)
  const own = { mimetype: 'text/html; charset="utf-8"', cacheControl: 'max-age=5' }
  t.match(await copy('copie/c.txt', { copyMetadata: false, metadata: own }, { da: 'richiesta' }),
    { contentType: own.mimetype, cacheControl: own.cacheControl, metadata: { da: 'richiesta' } })
  t.match(await copy('copie/d.txt', { copyMetadata: false }), { ...whole, metadata: {} })
  const wrong = { bucketId: 'public', sourceKey: 'copie/a.txt', destinationKey: 'x', copyMetadata: false }
  t.match((await send('POST', '/object/copy', KEY, { ...wrong, metadata: { mimetype: 'testo' } })).json(),
    { statusCode: '415' })
})

t.test('a bucket with settings that the server cannot apply is refused, in a creation or a change', async (t) => {
  await admin.createBucket('giusto', { public: false })
  const wrong: [settings: object, statusCode: string, message: RegExp][] = [
    [{ file_size_limit: FILE_BYTES_MAX + 1 }, '413', /maximum allowed size/],
    [{ file_size_limit: '1gb' }, '413', /maximum allowed size/],
    [{ allowed_mime_types: ['image/png', 'immagine'] }, '415', /mime type immagine is not supported/],
    [{ allowed_mime_types: ['image/'] }, '415', /image\//]
  ]
  for (const [settings, statusCode, message] of wrong) {
    t.match((await send('POST', '/bucket', ADMIN, { name: 'storto', ...settings })).json(), { statusCode, message })
    t.match((await send('PUT', '/bucket/giusto', ADMIN, settings)).json(), { statusCode, message })
  }
  t.match((await send('POST', '/bucket', ADMIN, { name: 'uno', id: 'due' })).json(),
    { code: 'InvalidBucketName', message: 'Bucket name "uno" must be its id "due"' })
  for (const allowed_mime_types of [['*/*'], ['*'], ['image/*', ''], [], null]) {
    t.equal((await send('PUT', '/bucket/giusto', ADMIN, { allowed_mime_types })).statusCode, 200)
    t.equal((await upload('giusto/a', { 'content-type': 'image/png', 'x-upsert': 'true' })).statusCode, 200)
  }
})
