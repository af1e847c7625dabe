import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import postgres from 'postgres'
import type { Test } from 'tap'
import { CHILD_ENV, chooseAccount, type Account } from '#src/database/embedded/account.ts'
import { findBinaries, type Binaries } from '#src/database/embedded/binaries.ts'
import { freePort } from '#test/free-port.ts'

/** Durability is not needed. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  wal_keep_size: '256MB',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
  TimeZone: 'UTC',
  wal_retrieve_retry_interval: '200ms'
}

interface Place { folder: string, account: Account | undefined, binaries: Binaries }

/** A PostgreSQL server. */
interface Server {
  port: number
  /** A superuser connection. */
  sql: postgres.Sql
  /** Kills the server, as when its machine fails. */
  crash (): Promise<void>
}

/**
 * A PostgreSQL primary and its asynchronous streaming standby on loopback, with a role and an empty database for a
 * server. Both are removed when the test ends.
 */
export async function replicatedPair (t: Pick<Test, 'teardown'>): Promise<{ primary: Server, standby: Server }> {
  const { folder, run, ...place } = await initialised(t)
  const standbyFolder = `${folder}-standby`
  await run('cp', ['-a', folder, standbyFolder])
  await run('touch', [join(standbyFolder, 'standby.signal')])
  const primary = await start(t, { folder, ...place })
  await primary.sql`create role locanda login createdb createrole`
  await primary.sql`create database locanda owner locanda`
  appendFileSync(join(standbyFolder, 'postgresql.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=postgres application_name=standby'\n`)
  const standby = await start(t, { folder: standbyFolder, ...place })
  await caughtUp(primary)
  return { primary, standby }
}

/** A cluster that was never started. */
async function initialised (t: Pick<Test, 'teardown'>) {
  const home = mkdtempSync(join(tmpdir(), 'locanda-pair-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  chmodSync(home, 0o755)
  const account = await chooseAccount(home)
  if (account) chownSync(home, account.uid, account.gid)
  const binaries = await findBinaries(account, home, () => {})
  const folder = join(home, 'cluster')
  const run = (command: string, args: string[]) =>
    promisify(execFile)(command, args, { cwd: home, env: CHILD_ENV, ...account })
  await run(join(binaries.bin, 'initdb'),
    ['-D', folder, '--username=postgres', '--encoding=UTF8', '--locale=C', '--auth=trust', '--no-sync'])
  return { folder, account, binaries, run }
}

/** Resolves when the standby has replayed all writes of its primary. */
export async function caughtUp ({ sql }: Server): Promise<void> {
  for (;; await sleep(50)) {
    const [row] = await sql<{ done: boolean }[]>`
      select replay_lsn = pg_current_wal_lsn() as done from pg_stat_replication where state = 'streaming'`
    if (row?.done) return
  }
}

/** Stops replication: the standby never receives later writes. */
export async function cutOff ({ sql }: Server): Promise<void> {
  await sql`alter system set primary_conninfo = ''`
  await sql`select pg_reload_conf()`
  for (;; await sleep(50)) {
    const [row] = await sql`select from pg_stat_wal_receiver`
    if (!row) return
  }
}

async function start (t: Pick<Test, 'teardown'>, { folder, account, binaries }: Place): Promise<Server> {
  const port = await freePort()
  const file = `${folder}.log`
  const log = openSync(file, 'a')
  const flags = Object.entries({ ...SETTINGS, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(binaries.bin, 'postgres'), ['-D', folder, ...flags],
    { cwd: folder, env: CHILD_ENV, stdio: ['ignore', log, log], ...account })
  closeSync(log)
  const exit = once(child, 'exit')
  const all = () => {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').match(/\d+/g) ?? []
    return [child.pid!, ...children.map(Number)]
  }
  const kill = () => {
    for (const pid of all()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch (err) {
        // PostgreSQL's processes end when the first of them has ended.
        if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err
      }
    }
  }
  const sql = postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, {
    max: 1, onnotice: () => {}, backoff: () => 0.05
  })
  const crash = async () => {
    if (child.exitCode === null && child.signalCode === null) kill()
    await exit
  }
  t.teardown(async () => {
    await crash()
    await sql.end({ timeout: 0 })
  })
  while (await sql`select 1`.then(() => false, () => true)) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${readFileSync(file, 'utf8')}`)
    await sleep(50)
  }
  return { port, sql, crash }
}
