import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { s3Backend } from '#src/plugins/storage/backends/s3.ts'
import { user } from '#test/cli/process.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { noRadosgw, startRadosgw } from '#test/radosgw.ts'
import { backendRules } from './backend-rules.ts'
import { codeOf } from './failures.ts'
import { keep, PLACE, storageRules } from './storage-rules.ts'

t.test('with an S3 server', { skip: noRadosgw }, async (t) => {
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

  t.test('a backup has the files of a bucket, and a restore puts them into an empty one', async (t) => {
    const environ = await server.makeBucket('di-prima')
    const before = await build(t, environ)
    const content = Buffer.alloc(300_000, 'abc')
    await keep(before, content)
    const { act } = user(t)
    const file = join(temporaryFolder(t), 'locanda.bak')
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
    t.match(taken.stderr, /posto dei file .* non è vuoto/)
    const bucket = await server.makeBucket('di-dopo')
    const restored = await act(['restore', file], { env: { ...env, ...own, ...bucket } })
    t.equal(restored.code, 0, restored.stderr)
    const { app } = await build(t, { ...bucket, ...own, MASTER_KEY: before.masterKey })
    const object = await app.storage.find(app.db, PLACE.bucket, PLACE.name)
    t.ok((await buffer(await app.storage.read(object!))).equals(content))
  })
})
