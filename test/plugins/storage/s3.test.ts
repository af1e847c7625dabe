import t from 'tap'
import { s3Backend } from '#src/plugins/storage/backends/s3.ts'
import { build } from '#test/helper.ts'
import { noRadosgw, startRadosgw } from '#test/radosgw.ts'
import { backendRules } from './backend-rules.ts'
import { codeOf } from './failures.ts'
import { keep, PLACE, storageRules } from './storage-rules.ts'

t.setTimeout(300_000)

t.test('with an S3 server', { skip: noRadosgw, timeout: 300_000 }, async (t) => {
  const server = await startRadosgw(t)

  t.test('files', async (t) => {
    const environ = await server.makeBucket('file-soli')
    backendRules(t, s3Backend({
      endpoint: environ.S3_ENDPOINT,
      bucket: environ.S3_BUCKET,
      region: environ.S3_REGION,
      accessKeyId: environ.S3_ACCESS_KEY_ID,
      secretAccessKey: environ.S3_SECRET_ACCESS_KEY
    }))
  })

  t.test('rows and files', async (t) => storageRules(t, server.environ))

  t.test('a bucket that is not there, or a key that is not let in, is a 503, and the server works on', async (t) => {
    for (const wrong of [{ S3_BUCKET: 'nessuno' }, { S3_SECRET_ACCESS_KEY: 'sbagliato' }]) {
      const { app, call, logs } = await build(t, { ...server.environ, ...wrong })
      t.equal(await codeOf(app.storage.write(Buffer.from('x'), PLACE, 10)), 'ARCHIVIO_NON_DISPONIBILE')
      t.ok(logs.some(({ msg }) => msg === 'the place of the files fails'))
      t.notMatch(JSON.stringify(logs), server.environ.S3_SECRET_ACCESS_KEY)
      t.equal((await call('GET', '/health/ready')).statusCode, 200)
    }
  })

  t.test('two databases do not share a bucket', async (t) => {
    const environ = await server.makeBucket('di-uno')
    await keep(await build(t, environ), Buffer.from('x'))
    const other = await build(t, environ)
    t.equal(await codeOf(keep(other, Buffer.from('y'))), 'ARCHIVIO_NON_DISPONIBILE')
  })
})
