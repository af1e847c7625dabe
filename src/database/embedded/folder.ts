import { randomBytes } from 'node:crypto'
import { chmod, lstat, open, readdir, readFile, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { dataArgument, give, makeFolder, run } from './account.ts'
import type { Site } from './postmaster.ts'
import { EmbeddedError, ignoring } from './embedded-error.ts'

/** How a new cluster is made. The builtin provider sorts the same on every system and under every C library. */
const INITDB_OPTIONS: readonly string[] = [
  '--username=postgres',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  // The socket lies in a folder that only its owner can enter; over TCP there is a password.
  '--auth-local=trust',
  '--auth-host=scram-sha-256',
  '--no-instructions'
]

export const PASSWORD_FILE = 'postgres.password'

/** The data folder: `DATA_DIR/postgres`, or the target of a link. @throws EmbeddedError when the target is missing */
export async function locateFolder (home: string): Promise<string> {
  const folder = join(home, 'postgres')
  return await realpath(folder).catch(async () => {
    if (await lstat(folder).then(() => false, () => true)) return folder
    // The other disk is away: an empty cluster must not take its place.
    throw new EmbeddedError(`il collegamento ${folder} non porta a una cartella`)
  })
}

/**
 * Makes the cluster where the folder is empty or missing. One that was restored as root, or open to others, which
 * PostgreSQL refuses, is given to the account and closed.
 * @throws EmbeddedError for a cluster of another major version and for a folder with something else in it
 */
export async function prepareFolder (site: Site): Promise<void> {
  const { folder, account, version, log } = site
  const [major] = version.split('.')
  const names = await readdir(folder).catch(ignoring('ENOENT'))
  if (!names?.length) {
    log(`PostgreSQL incorporato: preparo una base dati nuova in ${folder}`)
    return await initialise(site)
  }
  const found = (await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(ignoring('ENOENT')))?.trim()
  if (found !== major) {
    throw new EmbeddedError(`la cartella ${folder} contiene ${found ? `PostgreSQL ${found}` : 'altri file'}, ` +
      `il programma installato è PostgreSQL ${major}: nulla è stato toccato; convertire i dati (dump e ripristino)`)
  }
  await chmod(folder, 0o700)
  if (account && (await stat(folder)).uid !== account.uid) await give(folder, account)
}

/** The new cluster gets its final name when it is whole, so a killed initdb leaves only a folder to remove. */
async function initialise ({ home, folder, account, bin, password }: Site): Promise<void> {
  const [parent, prefix] = [dirname(folder), `${basename(folder)}.partial-`]
  const left = (await readdir(parent)).filter((name) => name.startsWith(prefix))
  for (const name of left) await rm(join(parent, name), { recursive: true, force: true, maxRetries: 3 })
  const partial = join(parent, prefix + randomBytes(4).toString('hex'))
  await makeFolder(partial, account)
  const options = ['-D', dataArgument(partial, account), ...INITDB_OPTIONS]
  if (password !== undefined) options.push(`--pwfile=${join(home, PASSWORD_FILE)}`)
  await run(join(bin, 'initdb'), options, account, partial).catch(async (err: unknown) => {
    await rm(partial, { recursive: true, force: true })
    throw err
  })
  await rmdir(folder).catch(ignoring('ENOENT'))
  await rename(partial, folder)
  if (platform() === 'win32') return
  // Without this a power cut could undo the renaming, and the next start would remove rows that were acknowledged.
  const handle = await open(parent)
  await handle.sync().finally(() => handle.close())
}
