import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { createBackup } from '#src/backup/create.ts'
import { connect } from '#src/database/connect.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { create } from '#test/bookings/samples.ts'
import { user } from '#test/cli/process.ts'
import { testDatabase } from '#test/database.ts'
import { uploading } from '#test/documents/uploading.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url))
const BACKUP_PASSPHRASE = 'otto barche sul lago'
const { act } = user(t)
const server = await build(t)
const own = {
  DATABASE_URL: server.url,
  DATA_DIR: server.dataDir,
  MASTER_KEY: server.masterKey,
  BACKUP_PASSPHRASE,
  NODE_COMPILE_CACHE: COMPILE_CACHE
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`a backup interrupted by ${signal} keeps the previous file, and leaves no partial file`, async (t) => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'locanda.tar.age')
    await writeFile(path, 'age-encryption.org/v1\n di prima')
    const { sql, close } = connect(server.url, 1)
    // The tool has written other tables, and now waits for this one.
    await sql.begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`
      await tx`lock table users in access exclusive mode`
      const child = spawn(process.execPath, [PROGRAM, 'backup', path], {
        env: own, stdio: ['ignore', 'ignore', 'pipe']
      })
      const said = text(child.stderr)
      const end = once(child, 'close')
      await until(() => existsSync(`${path}.partial`))
      child.kill(signal)
      t.same(await end, [130, null])
      t.equal(await said, 'Salvataggio interrotto\n')
    })
    await close()
    t.same(await readdir(folder), ['locanda.tar.age'])
    t.equal(await readFile(path, 'utf8'), 'age-encryption.org/v1\n di prima')
  })
}

t.test('a backup names lost or truncated files, and saves and restores all others', async (t) => {
  const folder = temporaryFolder(t)
  const { id: booking } = await create(server.call, { numero_ospiti: 5 })
  const { upload } = uploading(server)
  const image = await jpeg()
  for (const guest of [0, 1, 2, 3, 4]) await upload(booking, { guest, image })
  // In the order of the backup, so that the damaged files are between two intact ones.
  const ids = (await server.app.sql<{ id: string }[]>`select id from objects order by id`).map(({ id }) => id)
  const lost = ids.slice(1, 4)
  const { sql, close } = connect(server.url, 1, { statement_timeout: '0' })
  t.teardown(close)
  const real = folderBackend(join(server.dataDir, 'files'))
  const fault = (code: string) => Object.assign(new Error(code), { code, syscall: 'read' })
  const opened = (change: (content: Buffer) => Iterable<Buffer>): Backend['get'] => async (id, range) => {
    const found = await real.get(id, range)
    return found && { ...found, content: Readable.from(change(await buffer(found.content)), { objectMode: false }) }
  }
  const ways: Backend['get'][] = [
    async () => { throw fault('EACCES') },
    opened((content) => [content.subarray(0, -1)]),
    opened(function * (content) {
      yield content.subarray(0, 10)
      throw fault('EIO')
    })
  ]
  const keys = createKeys(Buffer.from(server.masterKey, 'base64'))
  const damaged = join(folder, 'guasti.tar.age')
  const backend: Backend = { ...real, get: (id, range) => (ways[lost.indexOf(id)] ?? real.get)(id, range) }
  const { summary } = await createBackup({ sql, backend, keys }, damaged, BACKUP_PASSPHRASE)
  t.same(summary.missing, lost)
  const verified = await act(['backup', '--verify', damaged], { env: { BACKUP_PASSPHRASE } })
  t.equal(verified.code, 0, verified.stderr)
  t.match(verified.stderr, lost.join(', '))
  const env = { ...own, DATABASE_URL: (await testDatabase(t, true)).url, DATA_DIR: temporaryFolder(t) }
  const restored = await act(['restore', damaged], { env })
  t.equal(restored.code, 0, restored.stderr)
  t.match(restored.stderr, lost.join(', '))
  const isThere = (id: string) => existsSync(join(env.DATA_DIR, 'files', id.slice(0, 2), id))
  t.same(ids.filter(isThere), [ids[0], ids[4]], 'damaged files are not restored')

  const away = { ...real, get: async () => { throw fault('EMFILE') } }
  const path = join(folder, 'senza.tar.age')
  await t.rejects(createBackup({ sql, backend: away, keys }, path, BACKUP_PASSPHRASE), {
    message: 'i file non si possono leggere (EMFILE)'
  })
  t.notOk(existsSync(path) || existsSync(`${path}.partial`), 'a failure of the whole file storage fails the backup')

  await rename(join(server.dataDir, 'files'), join(server.dataDir, 'smontata'))
  await t.rejects(createBackup({ sql, backend: real, keys }, path, BACKUP_PASSPHRASE), { message: /non è montato/ })
  t.notOk(existsSync(path) || existsSync(`${path}.partial`), 'a backup that would lack all files fails')
})
