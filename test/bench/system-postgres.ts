import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { temporaryFolder } from './process.ts'
import { freePort } from '#test/free-port.ts'

const INSTALLED = '/usr/lib/postgresql'

/** A cluster of the installed PostgreSQL, with its tools. */
interface SystemPostgres { url: string, tool (name: string): string, stop (): void }

/** Starts a cluster, or returns the reason why that is impossible. */
export async function startSystemPostgres (): Promise<SystemPostgres | string> {
  const bin = toolFolder()
  if (bin === undefined) return `no PostgreSQL in ${INSTALLED}`
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const id = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  const as = isRoot ? { uid: id('-u'), gid: id('-g') } : {}
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  if (isRoot) execFileSync('install', ['-d', '-o', 'postgres', '-g', 'postgres', '-m', '700', data])
  else mkdirSync(data, { mode: 0o700 })
  const tool = (name: string) => join(bin, name)
  const run = (name: string, args: string[]) =>
    execFileSync(tool(name), args, { ...as, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] })
  const port = await freePort()
  run('initdb', ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale'])
  // The bench only reads the filled cluster, which needs no durability.
  const options = `-c listen_addresses=127.0.0.1 -p ${port} -k ${data} -c fsync=off -c max_wal_size=4GB`
  run('pg_ctl', ['-D', data, '-w', '-l', join(data, 'log'), '-o', options, 'start'])
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    tool,
    stop () {
      run('pg_ctl', ['-D', data, '-w', '-m', 'fast', 'stop'])
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** The folder of the latest version with server and tools. */
function toolFolder (): string | undefined {
  try {
    const versions = readdirSync(INSTALLED).map(Number).filter((each) => each > 0).toSorted((a, b) => b - a)
    return versions.map((each) => join(INSTALLED, String(each), 'bin'))
      .find((folder) => ['initdb', 'pg_ctl', 'pg_dump'].every((name) => readdirSync(folder).includes(name)))
  } catch {
    return undefined
  }
}
