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
