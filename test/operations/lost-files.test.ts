import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { createBackup } from '#src/operations/backup/create.ts'
import { connect } from '#src/plugins/database/connect.ts'
import type { Backend } from '#src/plugins/storage/backends/backend.ts'
import { filesBackend } from '#src/plugins/storage/backends/files.ts'
import { create } from '#test/bookings/samples.ts'
import { user } from '#test/cli/process.ts'
import { testDatabase } from '#test/database.ts'
import { uploading } from '#test/documents/uploading.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { jpeg } from '#test/plugins/images/pictures.ts'

const BACKUP_PASSPHRASE = 'otto barche sul lago'

t.test('a file that a disk has lost, whole or in part, is named, and the rest is saved and restored', async (t) => {
  const server = await build(t)
  const folder = temporaryFolder(t)
  const { act } = user(t)
  const own = { DATABASE_URL: server.url, MASTER_KEY: server.masterKey, BACKUP_PASSPHRASE }
  const { id: booking } = await create(server.call, { numero_ospiti: 2 })
  const { upload } = uploading(server)
  for (const guest_idx of [0, 1]) await upload(booking, { guest: guest_idx, image: await jpeg() })
  const [{ id: lost }, { id: other }] = await server.app.sql<[{ id: string }, { id: string }]>`
    select id from objects order by id`
  const { sql, close } = connect(server.url, 1, { statement_timeout: '0' })
  t.teardown(close)
  const real = filesBackend(join(server.dataDir, 'files'))
  const fault = (code: string) => Object.assign(new Error(code), { code, syscall: 'read' })
  const opened = (change: (content: Buffer) => Iterable<Buffer>): Backend['get'] => async (id, range) => {
    const found = await real.get(id, range)
    return found && { ...found, content: Readable.from(change(await buffer(found.content)), { objectMode: false }) }
  }
  const ways: Record<string, Backend['get']> = {
    closed: async () => { throw fault('EACCES') },
    short: opened((content) => [content.subarray(0, -1)]),
    illegible: opened(function * (content) {
      yield content.subarray(0, 10)
      throw fault('EIO')
    })
  }
  const keys = createKeys(Buffer.from(server.masterKey, 'base64'))
  for (const [name, get] of Object.entries(ways)) {
    const path = join(folder, `${name}.bak`)
    const backend = { ...real, get: (id: string) => (id === lost ? get : real.get)(id) }
    const { summary } = await createBackup({ sql, backend, keys }, path, BACKUP_PASSPHRASE)
    t.same(summary.missing, [lost], name)
    const verified = await act(['backup', '--verify', path], { env: { BACKUP_PASSPHRASE } })
    t.equal(verified.code, 0, verified.stderr)
    t.match(verified.stderr, lost)
    const env = { ...own, DATABASE_URL: (await testDatabase(t, true)).url, DATA_DIR: temporaryFolder(t) }
    const restored = await act(['restore', path], { env })
    t.equal(restored.code, 0, restored.stderr)
    t.match(restored.stderr, lost)
    const isThere = (id: string) => existsSync(join(env.DATA_DIR, 'files', id.slice(0, 2), id))
    t.same([lost, other].map(isThere), [false, true], 'nothing stands in its place')
  }

  const away = { ...real, get: async () => { throw fault('EMFILE') } }
  const path = join(folder, 'senza.bak')
  await t.rejects(createBackup({ sql, backend: away, keys }, path, BACKUP_PASSPHRASE), {
    message: 'i file non si possono leggere (EMFILE)'
  })
  t.notOk(existsSync(path) || existsSync(`${path}.partial`), 'a fault that is no file’s makes no backup')

  await rename(join(server.dataDir, 'files'), join(server.dataDir, 'smontata'))
  await t.rejects(createBackup({ sql, backend: real, keys }, path, BACKUP_PASSPHRASE), { message: /non è montato/ })
  t.notOk(existsSync(path) || existsSync(`${path}.partial`), 'nor does one that would lack all of them')
})
