import { randomBytes } from 'node:crypto'
import { StorageClient } from '@supabase/storage-js'
import sharp from 'sharp'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { objects } from '#drizzle/tables/storage.ts'
import { RENDITIONS } from '#schemas/storage.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, type Who } from '#test/helper.ts'
import { listen } from '#test/raw.ts'
import { jpeg, png, webp, withOrientation } from '#test/services/images/pictures.ts'
import { discard, store } from './samples.ts'

const test = await build(t)
const { app, token, call } = test
const base = `http://127.0.0.1:${await listen(app)}/storage/v1`

/** The official client. */
const client = async (who?: Who) =>
  new StorageClient(base, who ? { authorization: `Bearer ${await token(who)}` } : {})
const anna = await client({ name: 'anna' })
const admin = await client({ name: 'capo', role: 'admin' })

/** Format and size of an image. */
async function shapeOf (content: Blob | Response): Promise<string> {
  const { format, width, height } = await sharp(await content.arrayBuffer()).metadata()
  return `${format} ${width}x${height}`
}

const noise = (side: number) =>
  sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } }).jpeg().toBuffer()

const renditions = () => app.db.select().from(objects).where(eq(objects.bucket, RENDITIONS))
const render = (path: string, accept?: string) =>
  fetch(`${base}/render/image/${path}`, accept ? { headers: { accept } } : {})

await store(test, 'public', 'foto.jpg', await jpeg(400, 200))
await store(test, 'public', 'foto.png', await png(400, 200), { contentType: 'image/png' })
await store(test, 'public', 'foto.webp', await webp(400, 200), { contentType: 'image/webp' })

t.test('a download resizes an image as `resize` requires, and never enlarges it', async (t) => {
  const shapes = {
    '100x100': { cover: '100x100', contain: '100x50', fill: '100x100' },
    '300x900': { cover: '300x200', contain: '300x150', fill: '67x200' },
    '100x': { cover: '100x50', contain: '100x50', fill: '100x200' },
    x100: { cover: '200x100', contain: '200x100', fill: '400x100' },
    '800x800': { cover: '400x200', contain: '400x200', fill: '200x200' },
    '9999x0': { cover: '400x200', contain: '400x200', fill: '400x32' }
  }
  for (const [size, expected] of Object.entries(shapes)) {
    const [width, height] = size.split('x').map((side) => side === '' ? undefined : Number(side))
    for (const resize of ['cover', 'contain', 'fill'] as const) {
      const transform = { ...width !== undefined && { width }, ...height !== undefined && { height }, resize }
      const { data, error } = await anna.from('public').download('foto.jpg', { transform })
      t.equal(error, null)
      t.equal(await shapeOf(data!), `jpeg ${expected[resize]}`, `${size} ${resize}`)
    }
  }
})

t.test('anybody may use a public URL, with WebP for clients that accept it', async (t) => {
  const { data: { publicUrl } } = anna.from('public').getPublicUrl('foto.jpg', { transform: { width: 50, height: 50 } })
  t.match(publicUrl, '/render/image/public/public/foto.jpg?width=50&height=50')
  const plain = await fetch(publicUrl)
  t.equal(plain.headers.get('content-type'), 'image/jpeg')
  t.equal(plain.headers.get('content-disposition'), 'inline; filename="foto.jpg"')
  t.match(plain.headers.get('vary'), 'Accept')
  t.equal(plain.headers.get('x-content-type-options'), 'nosniff')
  t.equal(await shapeOf(plain), 'jpeg 50x50')
  const CHROMIUM = 'image/avif,image/webp,image/apng,image/*,*/*;q=0.8'
  t.equal(await shapeOf(await fetch(publicUrl, { headers: { accept: CHROMIUM } })), 'webp 50x50')
  t.equal(await shapeOf(await fetch(`${publicUrl}&format=origin`, { headers: { accept: CHROMIUM } })), 'jpeg 50x50')
  const avif = await fetch(`${publicUrl}&format=avif`)
  t.equal(avif.headers.get('content-type'), 'image/avif')
  t.notMatch(avif.headers.get('vary'), 'Accept')
  // The workers disable the decoder of AVIF in the whole process.
  t.equal(Buffer.from(await avif.arrayBuffer()).toString('latin1', 4, 12), 'ftypavif')
  for (const format of ['png', 'webp']) {
    t.equal(await shapeOf(await render(`public/public/foto.${format}`)), `${format} 400x200`)
  }
})

t.test('a rendition is upright and without metadata, and its quality is that of the request', async (t) => {
  await store(test, 'public', 'sdraiata.jpg', await withOrientation(6))
  t.equal(await shapeOf(await render('public/public/sdraiata.jpg?height=32')), 'jpeg 24x32')
  await store(test, 'public', 'rumore.jpg', await noise(300))
  const bytes = async (quality: string) =>
    (await (await render(`public/public/rumore.jpg?width=200${quality}`)).arrayBuffer()).byteLength
  const [low, normal, high] = [await bytes('&quality=20'), await bytes(''), await bytes('&quality=100')]
  t.ok(low < normal && normal < high, `${low} < ${normal} < ${high}`)
  t.equal(normal, await bytes('&quality=80'))
})

t.test('a signed link renders only the transformation for which it was signed', async (t) => {
  await store(test, 'avatars', 'anna.png', await png(400, 200), { contentType: 'image/png' })
  const { data } = await anna.from('avatars').createSignedUrl('anna.png', 60, {
    transform: { width: 64, height: 64, resize: 'cover' }
  })
  const url = data!.signedUrl
  t.match(url, '/render/image/sign/avatars/anna.png?token=')
  const rendered = await fetch(url)
  t.equal(rendered.headers.get('x-transformations'), 'height:64,width:64,resizing_type:fill')
  t.equal(await shapeOf(rendered), 'png 64x64')
  t.equal(await shapeOf(await fetch(`${url}&width=10&resize=fill`)), 'png 64x64')
  t.equal((await fetch(`${url}&download=ritratto.png`)).headers.get('content-disposition'),
    'attachment; filename="ritratto.png"')
  const { data: plain } = await anna.from('avatars').createSignedUrl('anna.png', 60, { transform: { resize: 'cover' } })
  t.match(plain!.signedUrl, '/object/sign/avatars/anna.png?token=')
  t.match(await (await render('sign/avatars/anna.png?token=no')).json(), { code: 'InvalidJWT' })
  t.match(await (await fetch(url.replace('/render/image/', '/object/'))).json(), { code: 'InvalidSignature' })
  const other = await render(`sign/avatars/altra.png?token=${new URL(url).searchParams.get('token')}`)
  t.match(await other.json(), { code: 'InvalidSignature' })
  await store(test, 'avatars', 'anna.png', await png(40, 20), { contentType: 'image/png' })
  t.match(await (await fetch(url)).json(), { code: 'NoSuchKey' })
})

t.test('a private image is rendered only for callers who may read it', async (t) => {
  t.match(await (await render('public/avatars/anna.png?width=10')).json(), { code: 'NoSuchKey' })
  t.equal((await render('authenticated/avatars/anna.png?width=10')).status, 401)
  await store(test, 'reports', 'rapporto.png', await png(), { contentType: 'image/png', owner: 'user:altro' })
  const { error } = await anna.from('reports').download('rapporto.png', { transform: { width: 10 } })
  t.match(error, { code: 'NoSuchKey' })
  t.equal((await admin.from('reports').download('rapporto.png', { transform: { width: 10 } })).error, null)
})

t.test('the audit log records a rendition of a guest’s document as an access to it', async (t) => {
  const document = await store(test, 'documents', '1/0/front.png', await png(), { contentType: 'image/png' })
  const readings = async () => (await app.sql`
    select from audit_log where action = 'documento_letto' and object = ${`file:${document.id}`}`).length
  for (const expected of [1, 2]) {
    const { error } = await anna.from('documents').download('1/0/front.png', { transform: { width: 10 } })
    t.equal(error, null)
    t.equal(await readings(), expected)
  }
  const { data } = await anna.from('documents').createSignedUrl('1/0/front.png', 600, { transform: { width: 10 } })
  t.equal((await fetch(data!.signedUrl)).status, 200)
  t.equal(await readings(), 3)
})

t.test('a file that is not an image, a huge one and an invalid size get an error of the protocol', async (t) => {
  await store(test, 'public', 'testo.jpg', 'ciao')
  await store(test, 'public', 'grande.jpg', Buffer.alloc(20 * 1024 * 1024 + 1))
  await store(test, 'public', 'disegno.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')
  const refused = async (path: string, message: RegExp | string) => {
    const response = await render(`public/public/${path}`)
    t.equal(response.status, 400)
    t.match(await response.json(), { statusCode: '400', code: 'InvalidRequest', message }, path)
  }
  await refused('testo.jpg?width=10', 'The source image is invalid or unsupported for rendering')
  await refused('disegno.svg?width=10', 'The source image is invalid or unsupported for rendering')
  await refused('grande.jpg?width=10', 'The source image file is too large to process')
  await refused('foto.jpg?width=-1', /querystring\/width/)
  await refused('foto.jpg?height=molto', /querystring\/height/)
  await refused('foto.jpg?quality=19', /querystring\/quality/)
  await refused('foto.jpg?resize=zoom', /querystring\/resize/)
  await refused('foto.jpg?format=gif', /querystring\/format/)
})

t.test('a rendition is made once, and clients can neither list it nor read it as a file', async (t) => {
  await store(test, 'public', 'una.jpg', await jpeg())
  const before = (await renditions()).length
  const answers = await Promise.all(Array.from({ length: 5 }, () => render('public/public/una.jpg?width=10')))
  t.same(answers.map(({ status }) => status), [200, 200, 200, 200, 200])
  const [tag] = new Set(answers.map(({ headers }) => headers.get('etag')))
  const again = await fetch(answers[0]!.url, { headers: { 'if-none-match': tag! } })
  t.equal(again.status, 304)
  const made = await renditions()
  t.equal(made.length, before + 1)
  const { name } = made.at(-1)!
  t.notOk((await admin.listBuckets()).data!.some(({ id }) => id === RENDITIONS))
  const results = [
    await admin.from(RENDITIONS).list(''), await admin.from(RENDITIONS).download(name),
    await admin.from(RENDITIONS).createSignedUrl(name, 60), await admin.getBucket(RENDITIONS),
    await admin.updateBucket(RENDITIONS, { public: true }), await admin.emptyBucket(RENDITIONS),
    await admin.deleteBucket(RENDITIONS), await admin.createBucket(RENDITIONS),
    await admin.from('public').copy('una.jpg', 'x.jpg', { destinationBucket: RENDITIONS })
  ]
  for (const { error } of results) t.match(error, { statusCode: /^40[04]$/ })
  t.equal((await call('GET', `/api/storage/${RENDITIONS}/${name}`)).statusCode, 404)
})

t.test('renditions are discarded when their image is moved, replaced, deleted or purged', async (t) => {
  const inPublic = anna.from('public')
  const start = (await renditions()).length
  const count = async () => (await renditions()).length - start
  const image = await store(test, 'public', 'a/vita.jpg', await jpeg())
  const show = (name: string) => render(`public/public/${name}?width=12`)
  t.equal((await show('a/vita.jpg')).status, 200)
  t.equal(await count(), 1)
  t.equal((await inPublic.move('a/vita.jpg', 'b/vita.jpg')).error, null)
  t.match(await (await show('a/vita.jpg')).json(), { code: 'NoSuchKey' })
  t.equal(await count(), 0)
  t.equal((await show('b/vita.jpg')).status, 200)
  t.equal(await count(), 1)

  t.equal((await inPublic.copy('b/vita.jpg', 'copia.jpg')).error, null)
  await show('copia.jpg')
  t.equal(await count(), 2)
  t.equal((await inPublic.remove(['b/vita.jpg'])).error, null)
  t.equal(await count(), 1)

  t.equal((await inPublic.update('copia.jpg', await jpeg(20, 20), { contentType: 'image/jpeg' })).error, null)
  t.equal(await count(), 0)
  t.equal(await shapeOf(await show('copia.jpg')), 'jpeg 12x12')
  const stored = await app.files.find(app.db, 'public', 'copia.jpg')
  await discard(test, stored!)
  t.equal(await count(), 0)
  app.files.removeDiscarded()
  await until(async () => (await app.sql`select from discarded_files`).length === 0)
  t.not(image.id, stored!.id)
})

t.test('an image keeps its twenty newest renditions', async (t) => {
  const image = await store(test, 'public', 'molte.jpg', await jpeg())
  for (let width = 1; width <= 22; width++) {
    t.equal((await render(`public/public/molte.jpg?width=${width}`)).status, 200)
  }
  const names = (await renditions()).map(({ name }) => name).filter((name) => name.startsWith(image.id))
  t.equal(names.length, 20)
  t.notOk(names.some((name) => /width:[12],/.test(name)), String(names))
})

t.test('an image deleted while it is rendered leaves no rendition', async (t) => {
  const image = await store(test, 'public', 'breve.jpg', await jpeg())
  // The deletion is committed once the rendition waits for its lock on the row.
  const { pending } = await app.db.transaction(async (tx) => {
    await app.files.discard(tx, [image])
    const pending = render('public/public/breve.jpg?width=14')
    await until(async () => (await app.sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%objects%for update%'`).length === 1)
    return { pending }
  })
  t.match(await (await pending).json(), { code: 'NoSuchKey' })
  t.notOk((await renditions()).some(({ name }) => name.startsWith(image.id)))
})
