import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { connect } from '#src/plugins/database/connect.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url))
const { url, dataDir, masterKey } = await build(t)
const env = {
  DATABASE_URL: url,
  DATA_DIR: dataDir,
  MASTER_KEY: masterKey,
  BACKUP_PASSPHRASE: 'una frase lunga',
  NODE_COMPILE_CACHE: COMPILE_CACHE
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`a backup that is broken off by ${signal} leaves the file of before, and nothing of its own`, async (t) => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'locanda.bak')
    await writeFile(path, 'LOCANDA BACKUP di prima')
    const { sql, close } = connect(url, 1)
    // The tool waits for this table, and has written others.
    await sql.begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`
      await tx`lock table users in access exclusive mode`
      const child = spawn(process.execPath, [PROGRAM, 'backup', path], { env, stdio: ['ignore', 'ignore', 'pipe'] })
      const said = text(child.stderr)
      const end = once(child, 'close')
      await until(() => existsSync(`${path}.partial`))
      child.kill(signal)
      t.same(await end, [130, null])
      t.equal(await said, 'Salvataggio interrotto\n')
    })
    await close()
    t.same(await readdir(folder), ['locanda.bak'])
    t.equal(await readFile(path, 'utf8'), 'LOCANDA BACKUP di prima')
  })
}

/** Says when a file is to be flushed, and takes its time for it, as a slow disk does. */
const SLOW_DISK = `
  import { open } from 'node:fs/promises'
  const handle = await open(process.execPath)
  const { sync } = Object.getPrototypeOf(handle)
  Object.getPrototypeOf(handle).sync = async function () {
    process.stderr.write('flushes ')
    await new Promise((resolve) => setTimeout(resolve, 2000))
    return await sync.call(this)
  }
  await handle.close()`

t.test('nor does one that is broken off while its file goes to the disk', async (t) => {
  const folder = temporaryFolder(t)
  const child = spawn(process.execPath, [PROGRAM, 'backup', join(folder, 'locanda.bak')], {
    env: { ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SLOW_DISK)}` },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const said = text(child.stderr)
  const end = once(child, 'close')
  child.stderr.once('data', () => child.kill('SIGINT'))
  t.same(await end, [130, null])
  t.equal(await said, 'flushes Salvataggio interrotto\n')
  t.same(await readdir(folder), [])
})
