import { Readable } from 'node:stream'
import { createClient } from '@supabase/supabase-js'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { buckets, objects } from '#drizzle/tables/storage.ts'
import { METADATA_MAX } from '#schemas/storage-upload.ts'
import { BUCKETS } from '#schemas/storage.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { openClient } from '#src/database/client.ts'
import { API_KEY, build, signIn, type Who } from '#test/helper.ts'
import { listen } from '#test/raw.ts'
import { store } from './samples.ts'

const ORIGIN = 'https://app.example'
const test = await build(t, { CORS_ORIGINS: ORIGIN })
const { app, call, logs, token } = test

const move = (sourceKey: string, destinationKey: string) =>
  call('POST', '/storage/v1/object/move', { bucketId: 'public', sourceKey, destinationKey })

/** Makes each move wait after its delete until the given number of moves is waiting, so that they overlap. */
async function overlapMoves (moves: number, work: () => Promise<void>): Promise<void> {
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

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')

t.test('the official client', async (t) => {
  const base = `http://127.0.0.1:${await listen(app)}`
  const { backendKey } = app.identity.directory.clientConfig
  /** The official client, unmodified. Without `who` it is not signed in. */
  const client = async (who?: Who) => createClient(base, backendKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { headers: who ? { authorization: `Bearer ${await token(who)}` } : {} }
  })
  const admin = await client({ name: 'capo', role: 'admin' })
  const anna = await client({ name: 'anna' })

  t.test('an administrator creates, changes, empties and deletes a bucket, except the built-in ones', async (t) => {
    const { storage } = admin
    t.same((await storage.createBucket('mappe', { public: false, fileSizeLimit: '1mb' })).data, { name: 'mappe' })
    t.match((await storage.createBucket('mappe')).error, { statusCode: '409', message: 'The resource already exists' })
    t.match((await storage.getBucket('mappe')).data, { id: 'mappe', public: false, file_size_limit: 1_000_000 })
    t.equal((await storage.updateBucket('mappe', { public: true })).error, null)
    t.match((await storage.getBucket('mappe')).data, { public: true, file_size_limit: 1_000_000 })
    t.equal((await storage.from('mappe').upload('a/b.txt', 'uno')).error, null)
    t.match((await storage.deleteBucket('mappe')).error, {
      statusCode: '409', message: 'The bucket you tried to delete is not empty'
    })
    t.equal((await storage.emptyBucket('mappe')).error, null)
    t.equal((await storage.deleteBucket('mappe')).error, null)
    t.match((await storage.getBucket('mappe')).error, { statusCode: '404', message: 'Bucket not found' })
    for (const bucket of ['documents', 'avatars', 'letters', 'reports', 'public']) {
      t.match((await storage.deleteBucket(bucket)).error, { statusCode: '403' }, bucket)
      t.match((await storage.updateBucket(bucket, { public: true })).error, { statusCode: '403' }, bucket)
      t.match((await storage.createBucket(bucket)).error, { statusCode: '409' }, bucket)
    }
    t.match((await storage.createBucket('../x')).error, { message: 'Bucket name invalid' })
    t.same(
      (await anna.storage.listBuckets()).data?.map(({ name }) => name),
      ['avatars', 'documents', 'letters', 'public', 'reports']
    )
    t.match((await anna.storage.createBucket('mio')).error, { status: 403, statusCode: '403' })
  })

  t.test('a file is returned unchanged after an upload as bytes, as a form, or as a stream', async (t) => {
    const files = anna.storage.from('public')
    const form = new FormData()
    form.append('', new Blob([PNG], { type: 'image/png' }), 'file.png')
    const bodies = {
      buffer: PNG,
      blob: new Blob([PNG], { type: 'image/png' }),
      form,
      stream: Readable.from([PNG.subarray(0, 3), PNG.subarray(3)])
    }
    for (const [name, body] of Object.entries(bodies)) {
      const { data, error } = await files.upload(`modi/${name}.png`, body, { contentType: 'image/png', duplex: 'half' })
      t.equal(error, null, name)
      t.equal(data?.fullPath, `public/modi/${name}.png`)
      const read = await files.download(`modi/${name}.png`)
      t.equal(read.data?.type, 'image/png', name)
      t.same(Buffer.from(await read.data!.arrayBuffer()), PNG, name)
    }
    t.match((await files.upload('modi/buffer.png', PNG)).error, {
      statusCode: '409', message: 'The resource already exists'
    })
    t.equal((await files.upload('modi/buffer.png', 'due', { upsert: true })).error, null)
    t.equal((await files.update('modi/buffer.png', 'tre')).error, null)
    t.equal(await (await files.download('modi/buffer.png')).data?.text(), 'tre')
    t.equal((await files.upload('modi/vuoto', '')).error, null)
    t.equal((await files.download('modi/vuoto')).data?.size, 0)
  })

  t.test('the info of a file has its type, size, metadata and caching', async (t) => {
    const files = anna.storage.from('public')
    const options = { contentType: 'text/plain', cacheControl: '60', metadata: { lingua: 'it', pagine: 2 } }
    await files.upload('info/testo.txt', 'ciao', options)
    await files.upload('info/forma.txt', new Blob(['ciao'], { type: 'text/plain' }), options)
    for (const name of ['testo', 'forma']) {
      const { data, error } = await files.info(`info/${name}.txt`)
      t.equal(error, null)
      t.match(data, {
        name: `info/${name}.txt`,
        bucketId: 'public',
        size: 4,
        contentType: 'text/plain',
        cacheControl: 'max-age=60',
        metadata: { lingua: 'it', pagine: 2 }
      })
    }
    t.same((await files.exists('info/testo.txt')).data, true)
    t.same((await files.exists('info/altro.txt')).data, false)
    t.match((await files.info('info/altro.txt')).error, { statusCode: '404', message: 'Object not found' })
  })

  t.test('lists show folders before files, in pages and by prefix', async (t) => {
    const files = anna.storage.from('public')
    for (const name of ['b.txt', 'a.txt', 'sotto/uno.txt', 'sotto/due/tre.txt', 'Zeta.txt', 'a_b.txt']) {
      t.equal((await files.upload(`elenco/${name}`, name)).error, null)
    }
    const names = (data: { name: string }[] | null) => data?.map(({ name }) => name)
    const { data } = await files.list('elenco')
    t.same(names(data), ['sotto', 'Zeta.txt', 'a.txt', 'a_b.txt', 'b.txt'])
    t.match(data?.[0], { id: null, metadata: null })
    t.match(data?.[1], { id: /^[0-9a-f-]{36}$/, metadata: { size: 8, mimetype: 'text/plain;charset=UTF-8' } })
    t.same(names((await files.list('elenco', { limit: 2, offset: 1 })).data), ['Zeta.txt', 'a.txt'])
    t.same(names((await files.list('elenco', { search: 'A' })).data), ['a.txt', 'a_b.txt'])
    t.same(
      names((await files.list('elenco', { sortBy: { column: 'created_at', order: 'desc' } })).data),
      ['sotto', 'a_b.txt', 'Zeta.txt', 'a.txt', 'b.txt']
    )
    t.same((await files.list('nessuna')).data, [])

    const byAge = { column: 'created_at', order: 'asc' } as const
    const orders = [undefined, { column: 'name', order: 'desc' } as const, byAge]
    for (const sortBy of orders) {
      const seen: string[] = []
      let cursor = ''
      do {
        const { data, error } = await files.listV2({
          prefix: 'elenco/',
          with_delimiter: true,
          limit: 2,
          cursor,
          ...(sortBy ? { sortBy } : {})
        })
        if (error) throw error
        seen.push(...[...data.folders, ...data.objects].map(({ name }) => name))
        cursor = data.hasNext ? data.nextCursor! : ''
      } while (cursor !== '')
      t.same(seen.sort(), ['Zeta.txt', 'a.txt', 'a_b.txt', 'b.txt', 'sotto/'].map((name) => `elenco/${name}`).sort())
    }
    t.equal((await files.listV2({ prefix: 'elenco/' })).data?.objects.length, 6)
    t.match((await files.listV2({ prefix: '', cursor: 'non-nostro' })).error, { statusCode: '400' })
  })

  t.test('a file is moved, copied and removed', async (t) => {
    const files = anna.storage.from('public')
    await files.upload('giro/uno.txt', 'uno', { contentType: 'text/plain', metadata: { a: 1 } })
    t.equal((await files.move('giro/uno.txt', 'giro/due.txt')).error, null)
    t.match((await files.download('giro/uno.txt')).error, { statusCode: '404' })
    t.equal((await files.copy('giro/due.txt', 'giro/tre.txt')).data?.path, 'public/giro/tre.txt')
    t.match((await files.info('giro/tre.txt')).data, { contentType: 'text/plain', metadata: { a: 1 }, size: 3 })
    t.match((await files.move('giro/due.txt', 'giro/tre.txt')).error, { statusCode: '409' })
    t.match((await files.copy('giro/due.txt', 'giro/tre.txt')).error, { statusCode: '409' })
    t.match((await files.copy('giro/due.txt', 'x', { destinationBucket: 'nessuno' })).error, { statusCode: '404' })
    const removed = await files.remove(['giro/due.txt', 'giro/manca.txt', 'giro/tre.txt'])
    t.same(removed.data?.map(({ name }) => name).sort(), ['giro/due.txt', 'giro/tre.txt'])
    t.same((await files.list('giro')).data, [])
  })

  t.test('a signed link reads a file without credentials, and a signed upload writes one', async (t) => {
    const files = anna.storage.from('public')
    await files.upload('firma/con spazio & segni.txt', 'ciao')
    const { data, error } = await files.createSignedUrl('firma/con spazio & segni.txt', 60, { download: 'pero.txt' })
    t.equal(error, null)
    const response = await fetch(data!.signedUrl)
    t.equal(await response.text(), 'ciao')
    t.equal(response.headers.get('content-disposition'), 'attachment; filename="pero.txt"')
    t.equal(response.headers.get('cache-control'), 'no-store')
    t.match((await files.createSignedUrl('firma/manca.txt', 60)).error, { statusCode: '404' })

    const many = await files.createSignedUrls(['firma/con spazio & segni.txt', 'firma/manca.txt'], 60)
    t.equal(await (await fetch(many.data![0]!.signedUrl!)).text(), 'ciao')
    t.match(many.data![1], { error: /does not exist/, signedUrl: null })

    const upload = await files.createSignedUploadUrl('firma/nuovo.txt')
    const nobody = (await client()).storage.from('public')
    t.equal((await nobody.uploadToSignedUrl('firma/nuovo.txt', upload.data!.token, 'due')).error, null)
    t.equal(await (await files.download('firma/nuovo.txt')).data?.text(), 'due')
    t.match((await nobody.uploadToSignedUrl('firma/nuovo.txt', upload.data!.token, 'tre')).error, { statusCode: '409' })
    t.match((await nobody.uploadToSignedUrl('firma/altro.txt', upload.data!.token, 'tre')).error, {
      message: 'Invalid signature'
    })
  })

  t.test('anyone may read files of public buckets, and all other files require credentials', async (t) => {
    await anna.storage.from('public').upload('aperto/logo.png', PNG, { contentType: 'image/png', cacheControl: '300' })
    const nobody = (await client()).storage
    const { data: { publicUrl } } = nobody.from('public').getPublicUrl('aperto/logo.png')
    const response = await fetch(publicUrl)
    t.same(Buffer.from(await response.arrayBuffer()), PNG)
    t.equal(response.headers.get('cache-control'), 'max-age=300')
    t.equal((await fetch(`${base}/storage/v1/object/public/documents/1/0/front.png`)).status, 400)
    t.equal((await nobody.from('public').download('aperto/logo.png')).error, null)
    t.match((await nobody.from('documents').download('1/0/front.png')).error, { message: 'Object not found' })
    t.match((await nobody.listBuckets()).error, { status: 401, message: 'Invalid Compact JWS' })
  })

  t.test('resumable uploads and unknown routes are refused in the protocol’s form', async (t) => {
    const resumable = await fetch(`${base}/storage/v1/upload/resumable`, { method: 'POST' })
    t.match(await resumable.json(), { code: 'FeatureNotEnabled' })
    const response = await fetch(`${base}/storage/v1/niente`)
    t.equal(response.status, 400)
    t.same(await response.json(), {
      statusCode: '404', error: 'Not Found', message: 'Route not found', code: 'InvalidRequest'
    })
  })
})

for (const names of [['a', 'b'], ['a', 'b', 'c']]) {
  t.test(`${names.length} concurrent moves, each to the name of another file, are all refused`, async (t) => {
    const stored = await Promise.all(names.map((name) => store(test, 'public', name, name)))
    await overlapMoves(names.length, async () => {
      const responses = await Promise.all(names.map((name, at) => move(name, names[(at + 1) % names.length]!)))
      for (const response of responses) t.match(response.json(), { statusCode: '409', code: 'KeyAlreadyExists' })
    })
    for (const { id, name } of stored) t.equal((await app.files.find(app.db, 'public', name))?.id, id)
    t.same(logs.filter(({ level }) => Number(level) >= 40), [])
  })
}

t.test('exactly one of two concurrent moves to one free name succeeds', async (t) => {
  for (const name of ['d', 'e']) await store(test, 'public', name, name)
  const responses = await Promise.all([move('d', 'f'), move('e', 'f')])
  t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 400])
  t.match(responses.find(({ statusCode }) => statusCode === 400)!.json(), { code: 'KeyAlreadyExists' })
})

t.test('the protocol uploads no file to the built-in buckets, for any caller', async (t) => {
  await upload('public/da.txt', KEY)
  for (const bucket of CLOSED) {
    for (const who of [KEY, OPERATOR, ADMIN]) {
      const response = await upload(`${bucket}/1/0/front.jpg`, who)
      t.equal(response.statusCode, 403, bucket)
      t.same(response.json(), denied)
      t.same((await send('POST', `/object/upload/sign/${bucket}/x`, who, {})).json(), denied)
      const into = { bucketId: 'public', sourceKey: 'da.txt', destinationBucket: bucket, destinationKey: 'x' }
      t.same((await send('POST', '/object/move', who, into)).json(), denied)
      t.same((await send('POST', '/object/copy', who, into)).json(), denied)
    }
  }
  t.same(await app.db.select().from(objects).where(eq(objects.bucket, 'documents')), [])
})

t.test('no file of the built-in buckets can be moved or copied, even by an administrator', async (t) => {
  for (const bucket of CLOSED) {
    await store(test, bucket, '1/0/front.jpg')
    const out = { bucketId: bucket, sourceKey: '1/0/front.jpg', destinationBucket: 'public', destinationKey: 'x.jpg' }
    for (const within of [out, { ...out, destinationBucket: bucket }]) {
      t.same((await send('POST', '/object/move', ADMIN, within)).json(), denied)
      t.same((await send('POST', '/object/copy', ADMIN, within)).json(), denied)
    }
  }
})

t.test('an operator may delete document images, and only an administrator other files', async (t) => {
  for (const bucket of CLOSED) {
    const { id, object_id } = await store(test, bucket, '1/0/front.jpg')
    const byOperator = await send('DELETE', `/object/${bucket}`, OPERATOR, { prefixes: ['1/0/front.jpg'] })
    if (bucket === 'documents') {
      t.match(byOperator.json(), [{ name: '1/0/front.jpg', id: object_id }])
    } else {
      t.same(byOperator.json(), denied, bucket)
      const byAdmin = await send('DELETE', `/object/${bucket}/1/0/front.jpg`, ADMIN)
      t.same(byAdmin.json(), { message: 'Successfully deleted' })
    }
    t.same(await app.db.select().from(objects).where(eq(objects.id, id)), [])
  }
})

t.test('only authenticated callers may use a bucket that an administrator created', async (t) => {
  t.equal((await send('POST', '/bucket', ADMIN, { name: 'interni' })).statusCode, 200)
  t.equal((await upload('interni/a.txt', OPERATOR)).statusCode, 200)
  t.equal((await send('GET', '/object/interni/a.txt', KEY)).body, 'ciao')
  t.equal((await send('GET', '/object/authenticated/interni/a.txt', KEY)).body, 'ciao')
  for (const kind of ['authenticated/', 'info/authenticated/']) {
    t.equal((await send('GET', `/object/${kind}interni/a.txt`, {})).statusCode, 401)
  }
  for (const kind of ['', 'info/']) {
    t.match((await send('GET', `/object/${kind}interni/a.txt`, {})).json(), { code: 'NoSuchKey' })
  }
  t.match((await send('GET', '/object/public/interni/a.txt', {})).json(), { code: 'NoSuchKey' })
  t.match((await send('GET', '/object/info/public/interni/a.txt', {})).json(), { code: 'NoSuchKey' })
})

t.test('a read-only key reads, lists and signs links, but cannot change files', async (t) => {
  const { user } = await signIn(app, 'anna', 'operator')
  const reading = { 'x-api-key': (await mintKey(app.db, app.identity.apiKeys, user.id, { scopes: 'lettura' })).apiKey }
  await upload('public/k.txt', KEY)
  t.equal((await send('GET', '/object/public/k.txt', reading)).statusCode, 200)
  t.equal((await send('POST', '/object/list/public', reading, { prefix: '' })).statusCode, 200)
  t.equal((await send('POST', '/object/sign/public/k.txt', reading, { expiresIn: 60 })).statusCode, 200)
  for (const response of [
    await upload('public/l.txt', reading), await send('POST', '/object/upload/sign/public/l.txt', reading, {}),
    await send('DELETE', '/object/public', reading, { prefixes: ['k.txt'] }),
    await send('POST', '/bucket', reading, { name: 'x' })
  ]) t.same([response.statusCode, response.json()], [403, denied])
})

t.test('uploads, moves and deletions are audited, without names', async (t) => {
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

t.test('no file exceeds its bucket\'s limit, with or without Content-Length', async (t) => {
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
  await upload('public/grande', OPERATOR, Buffer.alloc(1001))
  await upload('public/immagine', { ...OPERATOR, 'content-type': 'image/png' })
  const to = { bucketId: 'public', destinationBucket: 'piccolo', destinationKey: 'd' }
  for (const action of ['copy', 'move']) {
    t.same((await send('POST', `/object/${action}`, OPERATOR, { ...to, sourceKey: 'grande' })).json(), tooLarge)
    t.match((await send('POST', `/object/${action}`, OPERATOR, { ...to, sourceKey: 'immagine' })).json(), {
      code: 'InvalidMimeType'
    })
  }
  t.same(
    await app.db.select({ name: objects.name }).from(objects).where(eq(objects.bucket, 'piccolo')),
    [{ name: 'b' }]
  )
})

t.test('headers that are stored with the file are validated', async (t) => {
  const wrong: Record<string, string>[] = [
    { 'content-type': 'text' }, { 'content-type': 'text/html\t' }, { 'content-type': `text/${'x'.repeat(200)}` },
    { 'cache-control': 'è' }, { 'cache-control': 'x'.repeat(200) }, { 'x-metadata': 'bm8=' }, { 'x-metadata': 'W10=' },
    { 'x-metadata': Buffer.from(JSON.stringify({ a: 'x'.repeat(5000) })).toString('base64') },
    { 'x-metadata': Buffer.from('{"a":"\\u0000"}').toString('base64') }
  ]
  for (const headers of wrong) {
    const response = await upload('public/intestazioni', { ...OPERATOR, ...headers })
    t.equal(response.statusCode, 400, JSON.stringify(headers).slice(0, 60))
  }
  const form = new FormData()
  form.append('metadata', JSON.stringify({ a: 'è'.repeat(METADATA_MAX) }))
  form.append('', new Blob(['x']), 'x.txt')
  const url = '/storage/v1/object/public/intestazioni'
  const response = await app.inject({ method: 'POST', url, headers: OPERATOR, payload: form })
  t.match(response.json(), { code: 'EntityTooLarge', message: /metadata/ })
})

t.test('uploads refuse invalid names, and reads do not find them', async (t) => {
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

t.test('an emptied bucket has no rows and can be deleted, and built-in buckets cannot be emptied', async (t) => {
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

t.test('errors of rate limits, invalid URLs and maintenance also have the protocol’s form', async (t) => {
  const busy = await build(t, { DATABASE_URL: test.url, RATE_LIMIT_MAX: '3' })
  const ask = (url: string) => busy.app.inject({ url, headers: KEY })
  for (let count = 0; count < 3; count++) await ask('/storage/v1/bucket')
  for (const url of ['/storage/v1/bucket', '/storage/v1/niente']) {
    const response = await ask(url)
    t.equal(response.statusCode, 429, url)
    t.match(response.json(), { statusCode: '429', code: 'SlowDown' })
    t.ok(response.headers['retry-after'])
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

t.test('preflight requests need no credentials on any path', async (t) => {
  const headers = {
    origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-upsert'
  }
  for (const path of ['/object/public/a.txt', '/object/list/public', '/bucket', '/nessuno']) {
    const response = await app.inject({ method: 'OPTIONS', url: `/storage/v1${path}`, headers })
    t.equal(response.statusCode, 204, path)
    t.match(response.headers, {
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
