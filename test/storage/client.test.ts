import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { noRadosgw, startRadosgw } from '#test/radosgw.ts'
import { serve } from './clients.ts'

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')

/** Holds the official client to its rules, on any backend of files. */
async function clientRules (t: Test, environ: Record<string, string> = {}): Promise<void> {
  const { client, base } = await serve(t, environ)
  const admin = await client({ name: 'capo', role: 'admin' })
  const anna = await client({ name: 'anna' })

  t.test('an administrator makes, changes, empties and deletes a bucket, but for the product’s', async (t) => {
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

  t.test('a file reads back as it was uploaded: as bytes, as a form, as a stream', async (t) => {
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

  t.test('lists: folders first, then files; in parts; by prefix', async (t) => {
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
      let cursor: string | undefined
      do {
        const { data, error } = await files.listV2({
          prefix: 'elenco/',
          with_delimiter: true,
          limit: 2,
          ...(cursor ? { cursor } : {}),
          ...(sortBy ? { sortBy } : {})
        })
        if (error) throw error
        seen.push(...[...data.folders, ...data.objects].map(({ name }) => name))
        cursor = data.hasNext ? data.nextCursor : undefined
      } while (cursor)
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
    const answer = await fetch(data!.signedUrl)
    t.equal(await answer.text(), 'ciao')
    t.equal(answer.headers.get('content-disposition'), 'attachment; filename="pero.txt"')
    t.equal(answer.headers.get('cache-control'), 'no-store')
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

  t.test('files of public buckets are read by everybody, others by nobody without credentials', async (t) => {
    await anna.storage.from('public').upload('aperto/logo.png', PNG, { contentType: 'image/png', cacheControl: '300' })
    const nobody = (await client()).storage
    const { data: { publicUrl } } = nobody.from('public').getPublicUrl('aperto/logo.png')
    const answer = await fetch(publicUrl)
    t.same(Buffer.from(await answer.arrayBuffer()), PNG)
    t.equal(answer.headers.get('cache-control'), 'max-age=300')
    t.equal((await fetch(`${base}/storage/v1/object/public/documents/1/0/front.png`)).status, 400)
    t.equal((await nobody.from('public').download('aperto/logo.png')).error, null)
    t.match((await nobody.from('documents').download('1/0/front.png')).error, { status: 401 })
    t.match((await nobody.listBuckets()).error, { status: 401, message: 'Invalid Compact JWS' })
  })

  t.test('transformations and unknown routes are refused in the protocol’s form', async (t) => {
    const transformed = await anna.storage.from('public').download('x.png', { transform: { width: 10 } })
    t.match(transformed.error, { code: 'FeatureNotEnabled' })
    const answer = await fetch(`${base}/storage/v1/niente`)
    t.equal(answer.status, 400)
    t.same(await answer.json(), {
      statusCode: '404', error: 'Not Found', message: 'Route not found', code: 'InvalidRequest'
    })
  })
}

t.test('the official client, files in a folder', async (t) => await clientRules(t))

t.test('the official client, files in an S3 bucket', { skip: noRadosgw }, async (t) => {
  const { environ } = await startRadosgw(t)
  await clientRules(t, environ)
})
