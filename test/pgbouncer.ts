import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { chooseAccount } from '#src/plugins/database/embedded/account.ts'
import { temporaryFolder } from './helper.ts'
import { freePort } from '#test/free-port.ts'

/** Why there is no PgBouncer on this machine, for `skip`; false: there is one. */
export const noPgbouncer = spawnSync('pgbouncer', ['--version']).error ? 'pgbouncer is not installed' : false

/**
 * A PgBouncer that pools transactions over two sessions, on loopback; it ends when the test ends.
 * @param port of the PostgreSQL
 * @param ignored settings of sessions that it drops without a word; it refuses those that it does not know
 * @returns a DATABASE_URL
 */
export async function pgbouncer (t: Test, port: number, ignored: readonly string[] = []): Promise<string> {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const own = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, `[databases]
locanda = host=127.0.0.1 port=${port} user=locanda
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = ${ignored.join()}
`)
  const account = await chooseAccount(folder)
  const child = spawn('pgbouncer', [file], { stdio: ['ignore', 'ignore', 'pipe'], ...account })
  const exit = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  for await (const line of createInterface(child.stderr)) if (line.includes('process up')) break
  child.stderr.resume()
  return `postgres://locanda@127.0.0.1:${own}/locanda`
}
