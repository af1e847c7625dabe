import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import pino from 'pino'
import t from 'tap'
import { s3Backend } from '#src/plugins/storage/backends/s3.ts'
import { CHUNK_BYTES, encryptedSize, STRETCH_BYTES } from '#src/plugins/storage/encryption.ts'
import { guarded } from '#src/plugins/storage/guarded.ts'
import { build } from '#test/helper.ts'
import { codeOf } from './failures.ts'
import { keep, PLACE } from './storage-rules.ts'

const ID = '0f000000-0000-4000-8000-000000000000'
/** More than is read at a time. */
const CONTENT = Buffer.alloc(24 * CHUNK_BYTES)
const SIZE = encryptedSize(CONTENT.length)
const PATIENCE = { answerMs: 2000, silenceMs: 2000 }

/** What it says to a request before it falls silent: nothing, the head of the answer, or a part of the file, too. */
let said = ''
const connections = new Set<Socket>()
const server = createServer((socket) => {
  connections.add(socket)
  socket.on('error', () => {}).on('close', () => connections.delete(socket))
  socket.on('data', () => { if (said !== '') socket.write(said) })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => {
  for (const socket of connections) socket.destroy()
  server.close()
})
const stalling = s3Backend({
  endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  bucket: 'prova',
  region: 'us-east-1',
  accessKeyId: 'prova',
  secretAccessKey: 'prova'
}, PATIENCE)

const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`
const HALF = HEAD + 'x'.repeat(2 * STRETCH_BYTES)

t.test('an S3 server that takes connections and never answers is away, whatever it is asked', async (t) => {
  said = ''
  const backend = guarded(stalling, pino({ level: 'silent' }))
  const asked = [
    () => backend.head(ID), () => backend.get(ID), () => backend.copy(ID, ID), () => backend.delete(ID),
    () => backend.put(ID, (async function * () { yield Buffer.from('x') })())
  ]
  for (const ask of asked) t.equal(await codeOf(ask()), 'ARCHIVIO_NON_DISPONIBILE', String(ask))
})

t.test('a file that stops in the middle of its way from S3 breaks off, before or after its first piece', async (t) => {
  const backend = guarded(stalling, pino({ level: 'silent' }))
  for (const [begun, least] of [[HEAD, 0], [HALF, STRETCH_BYTES]] as const) {
    said = begun
    const opened = (await backend.get(ID))!
    t.equal(opened.size, SIZE)
    let bytes = 0
    const code = await codeOf((async () => { for await (const piece of opened.content) bytes += piece.length })())
    t.equal(code, 'ARCHIVIO_NON_DISPONIBILE')
    t.ok(bytes >= least && bytes < SIZE, String(bytes))
    opened.close()
  }
})

t.test('who asks for a file meanwhile is answered with a 503, and so is who brings one', async (t) => {
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
    said = begun
    const answer = await call('GET', `/api/storage/${object.bucket}/lento`)
    t.match(answer.json(), { status: 503, codice: 'ARCHIVIO_NON_DISPONIBILE' }, begun)
    t.ok(answer.headers['retry-after'])
  }
  said = ''
  t.equal(await codeOf(app.storage.write(Buffer.from('x'), PLACE, 10)), 'ARCHIVIO_NON_DISPONIBILE')
  isAway = false
  t.equal((await call('GET', `/api/storage/${object.bucket}/lento`)).rawPayload.length, CONTENT.length)
})
