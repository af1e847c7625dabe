import { randomBytes } from 'node:crypto'
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat
} from 'node:fs/promises'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ownUid, type Account } from './account.ts'
import { codeOf, EmbeddedError, type Log } from './problems.ts'
import { run } from './run.ts'
import { INITDB_OPTIONS } from './settings.ts'
import type { Site } from './site.ts'

/**
 * The folder of the cluster: `DATA_DIR/postgres`, or where a link of that name points.
 * @throws EmbeddedError when the link points nowhere: its disk is missing, and a new empty cluster must not take its
 * place
 */
export async function locateFolder (home: string): Promise<string> {
  const folder = join(home, 'postgres')
  if (await lstat(folder).then((found) => !found.isSymbolicLink(), () => true)) return folder
  return realpath(folder).catch((err) => {
    throw new EmbeddedError(`il collegamento ${folder} non porta a una cartella`, { cause: err })
  })
}

/**
 * True when the folder holds a cluster of this major version, false when there is nothing in it yet. Touches nothing.
 * @throws EmbeddedError for a cluster of another major version and for a folder with something else in it
 */
export async function holdsCluster (folder: string, version: string): Promise<boolean> {
  const names = await readdir(folder).catch((err): string[] => {
    if (codeOf(err) === 'ENOENT') return []
    throw err
  })
  if (names.length === 0) return false
  if (!names.includes('PG_VERSION')) {
    throw new EmbeddedError(`la cartella ${folder} non è vuota e non contiene una base dati PostgreSQL`)
  }
  const found = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim()
  if (found === major(version)) return true
  if (!/^\d{1,3}$/.test(found)) throw new EmbeddedError(`${folder}/PG_VERSION è danneggiato: nulla è stato toccato`)
  throw new EmbeddedError(
    `la cartella ${folder} è di PostgreSQL ${found}, il programma installato è PostgreSQL ${version}: ` +
      'nulla è stato toccato; convertire i dati (dump e ripristino) o installare la versione precedente'
  )
}

function major (version: string): string {
  return version.split('.')[0] ?? version
}

/**
 * Puts right what a restored copy gets wrong: a mode open to others, which PostgreSQL refuses, and files that belong to
 * root.
 */
export async function secureFolder (folder: string, account: Account | undefined, log: Log): Promise<void> {
  const { mode, uid } = await stat(folder)
  if (ownUid() !== undefined && (mode & 0o077) !== 0) {
    await chmod(folder, 0o700)
    log(`PostgreSQL incorporato: la cartella ${folder} era aperta ad altri utenti, ora è 0700`)
  }
  if (account && uid !== account.uid) await give(folder, account)
}

async function give (folder: string, { uid, gid }: Account): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) await lchown(join(folder, name), uid, gid)
  // Last, because a start that is interrupted before it tries again.
  await lchown(folder, uid, gid)
}

/**
 * Makes a new cluster in a folder of its own and gives it the final name when it is whole: an initdb that was killed
 * leaves only something to sweep away.
 */
export async function initialise (
  { folder, account, binaries, password }: Site,
  passwordFile: string,
  whenMaking: () => void
): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  const prefix = `${basename(folder)}.partial-`
  for (const name of await readdir(dirname(folder))) {
    if (name.startsWith(prefix)) await rm(join(dirname(folder), name), { recursive: true, force: true, maxRetries: 3 })
  }
  const partial = join(dirname(folder), prefix + randomBytes(4).toString('hex'))
  await mkdir(partial, { mode: 0o700 })
  if (account) await lchown(partial, account.uid, account.gid)
  const secret = password === undefined ? [] : [`--pwfile=${passwordFile}`]
  try {
    const options = ['-D', dataArgument(partial, account), ...INITDB_OPTIONS, ...secret]
    const made = run(join(binaries.bin, 'initdb'), options, { account, cwd: partial })
    whenMaking()
    await made
  } catch (err) {
    await rm(partial, { recursive: true, force: true })
    throw err
  }
  await rmdir(folder).catch((err) => {
    if (codeOf(err) !== 'ENOENT') throw err
  })
  await rename(partial, folder)
  await syncFolder(dirname(folder))
}

/**
 * The data folder as PostgreSQL is told it. Root's stand-in may be unable to reach it by name (a `DATA_DIR` of mode
 * 0700, a project under /root), but it inherits the working folder, which was entered before the user changed: on Linux
 * that has a name of its own.
 */
export function dataArgument (folder: string, account: Account | undefined): string {
  return account && platform() === 'linux' ? '/proc/self/cwd' : folder
}

async function syncFolder (folder: string): Promise<void> {
  if (platform() === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
