import { eq } from 'drizzle-orm'
import t from 'tap'
import { buckets, objects } from '#drizzle/tables/storage.ts'
import { METADATA_MAX } from '#schemas/storage-upload.ts'
import { BUCKETS } from '#schemas/storage.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { openClient } from '#src/database/client.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { store } from './samples.ts'

const ORIGIN = 'https://app.example'
const test = await build(t, { CORS_ORIGINS: ORIGIN })
const { app, call, logs, token } = test

const move = (sourceKey: string, destinationKey: string) =>
  call('POST', '/storage/v1/object/move', { bucketId: 'public', sourceKey, destinationKey })

/** Moves wait, in the middle, until as many are under way as the test says: they meet for sure. */
async function meet (moves: number, work: () => Promise<void>): Promise<void> {
  await app.sql.unsafe(`
    create function wait_for_others () returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(4711);
        return old;
      end
    $$;
    create trigger wait_for_others after delete on objects for each row execute function wait_for_others()`)
  try {
    const gate = openClient(app.databaseUrl, 1)
    await gate`select pg_advisory_lock(4711)`
    const waiting = async () => (await app.sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%objects%'`).length
    const done = work()
    const ended = new AbortController()
    void done.finally(() => { ended.abort() })
    while (!ended.signal.aborted && await waiting() < moves) await new Promise((resolve) => { setTimeout(resolve, 20) })
    await gate.end()
    await done
  } finally {
    await app.sql.unsafe('drop trigger wait_for_others on objects; drop function wait_for_others')
  }
}

const KEY = { 'x-api-key': API_KEY }
const OPERATOR = { authorization: `Bearer ${await token()}` }
const ADMIN = { authorization: `Bearer ${await token({ name: 'capo', role: 'admin' })}` }
const CLOSED = BUCKETS.filter((bucket) => bucket !== 'public')

type Headers = Record<string, string>
const send = (method: 'GET' | 'POST' | 'DELETE', path: string, headers: Headers, body?: object) =>
  app.inject({ method, url: `/storage/v1${path}`, headers, ...(body ? { payload: body } : {}) })
const upload = (path: string, headers: Headers, content: string | Buffer = 'ciao') =>
  app.inject({
    method: 'POST',
    url: `/storage/v1/object/${path}`,
    headers: { 'content-type': 'text/plain', ...headers },
    payload: content
  })
const denied = { statusCode: '403', error: 'Unauthorized', message: 'Access denied', code: 'AccessDenied' }

for (const names of [['a', 'b'], ['a', 'b', 'c']]) {
  t.test(`${names.length} moves, each to the name of another one, at once are refused, all of them`, async (t) => {
    const stored = await Promise.all(names.map((name) => store(test, 'public', name, name)))
    await meet(names.length, async () => {
      const answers = await Promise.all(names.map((name, at) => move(name, names[(at + 1) % names.length]!)))
      for (const answer of answers) t.match(answer.json(), { statusCode: '409', code: 'KeyAlreadyExists' })
    })
    for (const { id, name } of stored) t.equal((await app.storage.find(app.db, 'public', name))?.id, id)
    t.same(logs.filter(({ level }) => Number(level) >= 40), [])
  })
}

t.test('exactly one of two moves to one free name at once is carried out', async (t) => {
  for (const name of ['d', 'e']) await store(test, 'public', name, name)
  const answers = await Promise.all([move('d', 'f'), move('e', 'f')])
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 400])
  t.match(answers.find(({ statusCode }) => statusCode === 400)!.json(), { code: 'KeyAlreadyExists' })
})

t.test('the product’s buckets take no file by the protocol, from nobody', async (t) => {
  await upload('public/da.txt', KEY)
  for (const bucket of CLOSED) {
    for (const who of [KEY, OPERATOR, ADMIN]) {
      const answer = await upload(`${bucket}/1/0/front.jpg`, who)
      t.equal(answer.statusCode, 403, bucket)
      t.same(answer.json(), denied)
      t.same((await send('POST', `/object/upload/sign/${bucket}/x`, who, {})).json(), denied)
      const into = { bucketId: 'public', sourceKey: 'da.txt', destinationBucket: bucket, destinationKey: 'x' }
      t.same((await send('POST', '/object/move', who, into)).json(), denied)
      t.same((await send('POST', '/object/copy', who, into)).json(), denied)
    }
  }
  t.same(await app.db.select().from(objects).where(eq(objects.bucket, 'documents')), [])
})

t.test('no file leaves the product’s buckets under another name: what deletes it would not find it', async (t) => {
  for (const bucket of CLOSED) {
    await store(test, bucket, '1/0/front.jpg')
    const out = { bucketId: bucket, sourceKey: '1/0/front.jpg', destinationBucket: 'public', destinationKey: 'x.jpg' }
    for (const within of [out, { ...out, destinationBucket: bucket }]) {
      t.same((await send('POST', '/object/move', ADMIN, within)).json(), denied)
      t.same((await send('POST', '/object/copy', ADMIN, within)).json(), denied)
    }
  }
})

t.test('images are deleted by who may delete bookings, letters, pictures and reports by administrators', async (t) => {
  for (const bucket of CLOSED) {
    const { id } = await store(test, bucket, '1/0/front.jpg')
    const byOperator = await send('DELETE', `/object/${bucket}`, OPERATOR, { prefixes: ['1/0/front.jpg'] })
    if (bucket === 'documents') {
      t.match(byOperator.json(), [{ name: '1/0/front.jpg', id }])
    } else {
      t.same(byOperator.json(), denied, bucket)
      const byAdmin = await send('DELETE', `/object/${bucket}/1/0/front.jpg`, ADMIN)
      t.same(byAdmin.json(), { message: 'Successfully deleted' })
    }
    t.same(await app.db.select().from(objects).where(eq(objects.id, id)), [])
  }
})

t.test('a bucket that an administrator has made is everybody’s with credentials, and nobody’s without', async (t) => {
  t.equal((await send('POST', '/bucket', ADMIN, { name: 'interni' })).statusCode, 200)
  t.equal((await upload('interni/a.txt', OPERATOR)).statusCode, 200)
  t.equal((await send('GET', '/object/interni/a.txt', KEY)).body, 'ciao')
  t.equal((await send('GET', '/object/authenticated/interni/a.txt', KEY)).body, 'ciao')
  for (const kind of ['', 'authenticated/', 'info/', 'info/authenticated/']) {
    t.equal((await send('GET', `/object/${kind}interni/a.txt`, {})).statusCode, 401)
  }
  t.match((await send('GET', '/object/public/interni/a.txt', {})).json(), { code: 'NoSuchKey' })
  t.match((await send('GET', '/object/info/public/interni/a.txt', {})).json(), { code: 'NoSuchKey' })
})

t.test('a key for reading reads, lists and signs links, and changes nothing', async (t) => {
  const { user } = await signIn(app, 'anna', 'operator')
  const reading = { 'x-api-key': (await mintKey(app.db, app.identity.apiKeys, user.id, { scopes: 'lettura' })).apiKey }
  await upload('public/k.txt', KEY)
  t.equal((await send('GET', '/object/public/k.txt', reading)).statusCode, 200)
  t.equal((await send('POST', '/object/list/public', reading, { prefix: '' })).statusCode, 200)
  t.equal((await send('POST', '/object/sign/public/k.txt', reading, { expiresIn: 60 })).statusCode, 200)
  for (const answer of [
    await upload('public/l.txt', reading), await send('POST', '/object/upload/sign/public/l.txt', reading, {}),
    await send('DELETE', '/object/public', reading, { prefixes: ['k.txt'] }),
    await send('POST', '/bucket', reading, { name: 'x' })
  ]) t.same([answer.statusCode, answer.json()], [403, denied])
})

t.test('uploads, moves and deletions are in the audit log, without names', async (t) => {
  await upload('public/Mario Rossi.txt', OPERATOR)
  await send('POST', '/object/move', OPERATOR, {
    bucketId: 'public', sourceKey: 'Mario Rossi.txt', destinationKey: 'Anna Bianchi.txt'
  })
  await send('DELETE', '/object/public', OPERATOR, { prefixes: ['Anna Bianchi.txt'] })
  const log = await app.inject({ url: '/api/v1/audit?limit=3', headers: ADMIN })
  const { data } = log.json() as { data: { action: string, actor: string }[] }
  t.same(data.map(({ action }) => action), ['file_eliminati', 'file_spostato', 'file_caricato'])
  t.ok(data.every(({ actor }) => actor.startsWith('user:')))
  t.notMatch(JSON.stringify(data), /Mario|Anna/)
})

t.test('no file is larger than its bucket allows, whether it says its size or not', async (t) => {
  await send('POST', '/bucket', ADMIN, { name: 'piccolo', file_size_limit: '1kb', allowed_mime_types: ['text/*'] })
  const tooLarge = {
    statusCode: '413',
    error: 'Payload too large',
    message: 'The object exceeded the maximum allowed size',
    code: 'EntityTooLarge'
  }
  t.same((await upload('piccolo/a', OPERATOR, Buffer.alloc(1001))).json(), tooLarge)
  t.equal((await upload('piccolo/b', OPERATOR, Buffer.alloc(1000))).statusCode, 200)
  t.match((await upload('piccolo/c', { ...OPERATOR, 'content-type': 'image/png' })).json(), {
    statusCode: '415', message: 'mime type image/png is not supported'
  })
  t.same(
    await app.db.select({ name: objects.name }).from(objects).where(eq(objects.bucket, 'piccolo')),
    [{ name: 'b' }]
  )
})

t.test('headers that would travel with the file are checked', async (t) => {
  const wrong: Record<string, string>[] = [
    { 'content-type': 'text' }, { 'content-type': 'text/html\t' }, { 'content-type': `text/${'x'.repeat(200)}` },
    { 'cache-control': 'è' }, { 'cache-control': 'x'.repeat(200) }, { 'x-metadata': 'bm8=' }, { 'x-metadata': 'W10=' },
    { 'x-metadata': Buffer.from(JSON.stringify({ a: 'x'.repeat(5000) })).toString('base64') },
    { 'x-metadata': Buffer.from('{"a":"\\u0000"}').toString('base64') }
  ]
  for (const headers of wrong) {
    const answer = await upload('public/intestazioni', { ...OPERATOR, ...headers })
    t.equal(answer.statusCode, 400, JSON.stringify(headers).slice(0, 60))
  }
  const form = new FormData()
  form.append('metadata', JSON.stringify({ a: 'è'.repeat(METADATA_MAX) }))
  form.append('', new Blob(['x']), 'x.txt')
  const url = '/storage/v1/object/public/intestazioni'
  const answer = await app.inject({ method: 'POST', url, headers: OPERATOR, payload: form })
  t.match(answer.json(), { code: 'EntityTooLarge', message: /metadata/ })
})

t.test('names that are none are refused, and found nowhere', async (t) => {
  const names = [
    '..%2f..%2fetc%2fpasswd', 'a//b', 'a/', '/a', 'a%00b', 'a%5cb', 'a%25b', 'a%3fb', 'a%23b',
    'caff%C3%A8', `${'x'.repeat(256)}`, `${'x/'.repeat(600)}x`, 'a%0d%0ab', '%7f'
  ]
  for (const name of names) {
    t.match((await upload(`public/a/${name}`, OPERATOR)).json(), { statusCode: /^40[04]$/ }, name)
    t.match((await send('GET', `/object/authenticated/public/a/${name}`, OPERATOR)).json(), { statusCode: '404' }, name)
    t.equal((await call('GET', `/api/storage/public/a/${name}`)).statusCode, 404, name)
  }
  t.equal((await call('GET', '/api/storage/d%2focs/x')).statusCode, 404)
})

t.test('an emptied bucket has no rows, and its files are to be removed', async (t) => {
  await send('POST', '/bucket', ADMIN, { name: 'pieno' })
  for (const name of ['a', 'b', 'c/d']) await upload(`pieno/${name}`, OPERATOR)
  const before = await app.db.$count(objects, eq(objects.bucket, 'pieno'))
  t.equal(before, 3)
  t.equal((await send('POST', '/bucket/pieno/empty', ADMIN, {})).statusCode, 200)
  t.equal(await app.db.$count(objects, eq(objects.bucket, 'pieno')), 0)
  t.equal((await send('DELETE', '/bucket/pieno', ADMIN, {})).statusCode, 200)
  t.same(await app.db.select().from(buckets).where(eq(buckets.id, 'pieno')), [])
  for (const bucket of CLOSED) t.same((await send('POST', `/bucket/${bucket}/empty`, ADMIN, {})).json(), denied)
})

t.test('rate limits, bad addresses and maintenance are refused in the protocol’s form, too', async (t) => {
  const busy = await build(t, { DATABASE_URL: test.url, RATE_LIMIT_MAX: '3' })
  const ask = (url: string) => busy.app.inject({ url, headers: KEY })
  for (let count = 0; count < 3; count++) await ask('/storage/v1/bucket')
  for (const url of ['/storage/v1/bucket', '/storage/v1/niente']) {
    const answer = await ask(url)
    t.equal(answer.statusCode, 429, url)
    t.match(answer.json(), { statusCode: '429', code: 'SlowDown' })
    t.ok(answer.headers['retry-after'])
  }
  const invalid = await app.inject('/storage/v1/object/%zz')
  t.match(invalid.json(), { statusCode: '400', code: 'InvalidRequest' })
  const maintain = (enabled: boolean) =>
    app.inject({ method: 'POST', url: '/api/settings/maintenance', headers: ADMIN, payload: { enabled } })
  await maintain(true)
  const closed = await send('GET', '/bucket', OPERATOR)
  t.equal(closed.statusCode, 503)
  t.match(closed.json(), { statusCode: '503', code: 'SlowDown' })
  await maintain(false)
})

t.test('a method that a path of the protocol has not is no route, as with the real server', async (t) => {
  for (const [method, path] of [['PATCH', '/bucket'], ['PUT', '/object/move'], ['GET', '/object/copy']] as const) {
    const answer = await call(method, `/storage/v1${path}`)
    t.equal(answer.statusCode, 400, path)
    t.match(answer.json(), {
      statusCode: '404', error: 'Not Found', message: 'Route not found', code: 'InvalidRequest'
    })
    t.equal(answer.headers.allow, undefined)
  }
})

t.test('browsers may ask with OPTIONS what they may send, without credentials and on every path', async (t) => {
  const headers = {
    origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-upsert'
  }
  for (const path of ['/object/public/a.txt', '/object/list/public', '/bucket', '/nessuno']) {
    const answer = await app.inject({ method: 'OPTIONS', url: `/storage/v1${path}`, headers })
    t.equal(answer.statusCode, 204, path)
    t.match(answer.headers, {
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': /POST/,
      'access-control-allow-headers': 'authorization,x-upsert'
    })
    const foreign = await app.inject({
      method: 'OPTIONS', url: `/storage/v1${path}`, headers: { ...headers, origin: 'https://altrove.example' }
    })
    t.equal(foreign.headers['access-control-allow-origin'], undefined, path)
  }
})
