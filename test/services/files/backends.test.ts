import { createServer } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import pino from 'pino'
import t from 'tap'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { s3Backend } from '#src/services/files/backends/s3-backend.ts'
import { CHUNK_BYTES, encryptedSize, STRETCH_BYTES } from '#src/services/files/encryption.ts'
import { mapBackendErrors } from '#src/services/files/backend-errors.ts'
import { user } from '#test/cli/process.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { listening } from '#test/loopback.ts'
import { noRadosgw, startRadosgw } from '#test/radosgw.ts'
import { backendRules } from './backend-rules.ts'
import { codeOf, keep, PLACE, storageRules } from './file-service-rules.ts'

const TIMEOUTS = { responseMs: 2000, silenceMs: 2000 }

/** The bytes that the server sends before it stalls: none, the head, or also a part of the file. */
let reply = ''

const stalledPort = await listening(t, createServer((socket) => {
  socket.on('error', () => {}).on('data', () => { if (reply !== '') socket.write(reply) })
}))

const stalling = s3Backend({
  endpoint: `http://127.0.0.1:${stalledPort}`,
  bucket: 'prova',
  region: 'us-east-1',
  accessKeyId: 'prova',
  secretAccessKey: 'prova'
}, TIMEOUTS)

t.test('the folder backend', async (t) => {
  backendRules(t, folderBackend(temporaryFolder(t)))
})

t.test('storage with the folder backend', async (t) => storageRules(t))

t.test('with an S3 server', { skip: noRadosgw }, async (t) => {
  const server = await startRadosgw(t)

  t.test('the S3 backend', async (t) => {
    const environ = await server.makeBucket('file-soli')
    backendRules(t, s3Backend({
      endpoint: environ.S3_ENDPOINT,
      bucket: environ.S3_BUCKET,
      region: environ.S3_REGION,
      accessKeyId: environ.S3_ACCESS_KEY_ID,
      secretAccessKey: environ.S3_SECRET_ACCESS_KEY
    }))
  })

  t.test('storage with the S3 backend', async (t) => storageRules(t, server.environ))

  t.test('a missing bucket or rejected key is answered with a 503, and the server keeps working', async (t) => {
    for (const wrong of [{ S3_BUCKET: 'nessuno' }, { S3_SECRET_ACCESS_KEY: 'sbagliato' }]) {
      const { app, call, logs } = await build(t, { ...server.environ, ...wrong })
      t.equal(await codeOf(app.files.write(Buffer.from('x'), PLACE, 10)), 'ARCHIVIO_NON_DISPONIBILE')
      t.ok(logs.some(({ msg }) => msg === 'the file backend failed'))
      t.notMatch(JSON.stringify(logs), server.environ.S3_SECRET_ACCESS_KEY)
      t.equal((await call('GET', '/health/ready')).statusCode, 200)
    }
  })

  t.test('a backup contains the files of a bucket, and a restore writes them to an empty one', async (t) => {
    const environ = await server.makeBucket('di-prima')
    const before = await build(t, environ)
    const content = Buffer.alloc(300_000, 'abc')
    await keep(before, content)
    const { act } = user(t)
    const file = join(temporaryFolder(t), 'locanda.tar.age')
    const env = {
      ...environ,
      DATABASE_URL: before.url,
      DATA_DIR: before.dataDir,
      MASTER_KEY: before.masterKey,
      BACKUP_PASSPHRASE: 'otto barche sul lago'
    }
    t.equal((await act(['backup', file], { env })).code, 0)
    const { url } = await testDatabase(t, true)
    const own = { DATABASE_URL: url, DATA_DIR: temporaryFolder(t) }
    const taken = await act(['restore', file], { env: { ...env, ...own } })
    t.match(taken.stderr, /archivio dei file .* non è vuoto/)
    const bucket = await server.makeBucket('di-dopo')
    const restored = await act(['restore', file], { env: { ...env, ...own, ...bucket } })
    t.equal(restored.code, 0, restored.stderr)
    const { app } = await build(t, { ...bucket, ...own, MASTER_KEY: before.masterKey })
    const object = await app.files.find(app.db, PLACE.bucket, PLACE.name)
    t.ok((await buffer(await app.files.read(object!))).equals(content))
  })
})

const ID = '0f000000-0000-4000-8000-000000000000'

/** More than one read buffer. */
const CONTENT = Buffer.alloc(24 * CHUNK_BYTES)

const SIZE = encryptedSize(CONTENT.length)

const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`
const HALF = HEAD + 'x'.repeat(2 * STRETCH_BYTES)

t.test('every operation returns 503 when the S3 server accepts connections and never responds', async (t) => {
  reply = ''
  const backend = mapBackendErrors(stalling, pino({ level: 'silent' }))
  const asked = [
    () => backend.head(ID), () => backend.get(ID), () => backend.copy(ID, ID), () => backend.delete(ID),
    () => backend.put(ID, (async function * () { yield Buffer.from('x') })())
  ]
  for (const ask of asked) t.equal(await codeOf(ask()), 'ARCHIVIO_NON_DISPONIBILE', String(ask))
})

t.test('a file that stalls on its way from S3 fails, before or after its first chunk', async (t) => {
  const backend = mapBackendErrors(stalling, pino({ level: 'silent' }))
  for (const [begun, least] of [[HEAD, 0], [HALF, STRETCH_BYTES]] as const) {
    reply = begun
    const opened = (await backend.get(ID))!
    t.equal(opened.size, SIZE)
    let bytes = 0
    const code = await codeOf((async () => { for await (const piece of opened.content) bytes += piece.length })())
    t.equal(code, 'ARCHIVIO_NON_DISPONIBILE')
    t.ok(bytes >= least && bytes < SIZE, String(bytes))
    opened.close()
  }
})

t.test('downloads and uploads get a 503 while S3 stalls', async (t) => {
  let isAway = false
  const built = await build(t, {}, undefined, {
    wrapBackend: (files) => new Proxy(files, {
      get: (target, name) => Reflect.get(isAway && name !== 'head' ? stalling : target, name)
    })
  })
  const { call, app } = built
  const object = await keep(built, CONTENT, 'lento')
  isAway = true
  for (const begun of ['', HEAD]) {
    reply = begun
    const response = await call('GET', `/api/storage/${object.bucket}/lento`)
    t.match(response.json(), { status: 503, codice: 'ARCHIVIO_NON_DISPONIBILE' }, begun)
    t.ok(response.headers['retry-after'])
  }
  reply = ''
  t.equal(await codeOf(app.files.write(Buffer.from('x'), PLACE, 10)), 'ARCHIVIO_NON_DISPONIBILE')
  isAway = false
  t.equal((await call('GET', `/api/storage/${object.bucket}/lento`)).rawPayload.length, CONTENT.length)
})
