import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/database/connect.ts'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { migrate } from '#src/database/migrate.ts'
import { storeFiles } from './stored-files.ts'

/*
 * Measures time and peak memory of a large backup: `node test/bench/backup.ts [megabytes]`, by default 1000, two fifths
 * rows and the rest files. Not part of the tests. Needs Linux (`/proc`).
 */
const PROGRAM = fileURLToPath(new URL('../../src/cli/start.cjs', import.meta.url))
const MEGABYTES = Number(process.argv[2] ?? 1000)
const MIB = 1024 * 1024
const ROWS = Math.round(MEGABYTES * 0.4 * MIB / 400)
const FILES = Math.round(MEGABYTES * 0.6)

const root = mkdtempSync(join(tmpdir(), 'locanda-large-'))
const [from, to, file] = [join(root, 'a'), join(root, 'b'), join(root, 'locanda.tar.age')]
try {
  await fill(from)
  await tool('backup', from, ['backup', file])
  process.stdout.write(`file: ${Math.round(statSync(file).size / MIB)} MiB\n`)
  await tool('verify', from, ['backup', '--verify', file])
  mkdirSync(to, { mode: 0o700 })
  cpSync(join(from, 'master.key'), join(to, 'master.key'))
  await tool('restore', to, ['restore', file])
} finally {
  rmSync(root, { recursive: true, force: true })
}

async function fill (dataDir: string): Promise<void> {
  const keys = createKeys(readConfig({ DATA_DIR: dataDir }).MASTER_KEY)
  const embedded = await startEmbedded({ dataDir, log: () => {} })
  await migrate(embedded.url)
  const { db, sql, close } = connect(embedded.url, 2, { statement_timeout: '0' })
  await sql`insert into audit_log (id, at, actor, action, object, details, hash)
    select n, now(), 'sistema', 'prova', 'riga:' || n,
      jsonb_build_object('a', md5(n::text) || md5((n + 1)::text) || md5((n * 7)::text) || md5((n * 31)::text)),
      sha256(n::text::bytea) from generate_series(1, ${ROWS}::int) n`
  await storeFiles({ db, keys, dataDir, count: FILES, size: MIB })
  await close()
  await embedded.stop()
  process.stdout.write(`made: ${ROWS} rows, ${FILES} files of 1 MiB\n`)
}

async function tool (name: string, DATA_DIR: string, args: string[]): Promise<void> {
  const begun = performance.now()
  const env = { PATH: process.env.PATH, DATA_DIR, BACKUP_PASSPHRASE: 'otto barche sul lago' }
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: 'inherit' })
  let peak = ''
  const timer = setInterval(() => {
    try {
      peak = /VmHWM:\s+(\d+ kB)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? peak
    } catch {
      // The process has ended.
    }
  }, 200)
  const [code] = await once(child, 'close') as [number | null]
  clearInterval(timer)
  process.stdout.write(`${name}: exit ${code}, ${((performance.now() - begun) / 1000).toFixed(1)} s, peak ${peak}\n`)
}
