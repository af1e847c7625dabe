import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { lockFile } from '#src/database/file-lock.ts'
import { ignoring } from '#src/lib/ignoring.ts'
import { EmbeddedError } from './embedded-error.ts'
import { attachOrStart, type Held, prepareFolder, reach, stopPostmaster, urlOf } from './postmaster.ts'
import { describeSite, type EmbeddedOptions, type Site } from './site.ts'

const USER = 'locanda'
const DATABASE = 'locanda'
const POLL_MS = 100
const REATTACH_MS = 1000

/**
 * The PostgreSQL of one `DATA_DIR`. The process with the lock file owns the cluster. It starts the cluster, restarts it
 * after a crash, and stops it. If the owner is killed, the next owner takes the running cluster over. A server waits
 * while a tool owns it.
 * @returns the URL for the driver, and a function that stops the cluster if this process owns it
 * @throws EmbeddedError, one line for the operator, when it cannot run
 */
export async function startEmbedded (options: EmbeddedOptions): Promise<{ url: string, stop: () => Promise<void> }> {
  const { dataDir, log, isServer = false, signal } = options
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const home = await realpath(dataDir)
  const serverLock = isServer ? lockFile(join(home, 'server.lock')) : undefined
  if (isServer && !serverLock) {
    throw new EmbeddedError(`un altro server usa già la base dati di ${home}: fermarlo, ` +
      'oppure avviarli tutti e due con lo stesso DATABASE_URL')
  }
  let lock: ReturnType<typeof lockFile>
  const release = () => [lock, serverLock].forEach((each) => each?.close())
  try {
    const site = await describeSite(home, options)
    for (let n = 0; !(lock = lockFile(join(home, 'postgres.lock'))); n++) {
      // The owner may not have created the database role yet.
      const shared = isServer ? undefined : await reach(site, USER, DATABASE).catch(() => undefined)
      if (shared) {
        await shared.sql.end()
        return { url: urlOf(site, shared.port, USER, DATABASE), stop: async () => {} }
      }
      if (n === 0) log('embedded PostgreSQL: waiting for another Locanda command that uses it')
      await sleep(POLL_MS, undefined, { signal })
    }
    const { url, stop } = await own(site)
    return { url, stop: () => stop().finally(release) }
  } catch (err) {
    release()
    throw err
  }
}

async function own (site: Site) {
  try {
    await prepareFolder(site)
    const held = await attachOrStart(site)
    await prepareDatabase(held.sql, site.password)
    const { promise: ending, resolve: end } = Promise.withResolvers<true>()
    // A restart uses the same port, because clients know it.
    const watching = watch({ ...site, port: held.port }, held, ending)
    return {
      url: urlOf(site, held.port, USER, DATABASE),
      async stop () {
        end(true)
        await watching
        await stopPostmaster(site)
      }
    }
  } catch (err) {
    await stopPostmaster(site)
    throw err
  }
}

/** An EmbeddedError has an Italian text for the operator's terminal. Log messages are English. */
function retryMessage ({ folder }: Site, err: unknown): string {
  const reason = err instanceof EmbeddedError ? `see ${folder}/postgres.log` : String(err)
  return `embedded PostgreSQL: not started again, retrying: ${reason}`
}

/** Whenever the connection to the cluster closes, reconnects or restarts the cluster. */
async function watch (site: Site, held: Held, ending: Promise<true>): Promise<void> {
  while (!await Promise.race([ending, held.closed])) {
    site.log('embedded PostgreSQL: connection lost, reconnecting')
    await attachOrStart(site).then((next) => { held = next }, (err: unknown) => site.log(retryMessage(site, err)))
    await sleep(REATTACH_MS)
  }
  await held.sql.end({ timeout: 1 })
}

/**
 * Creates the application's role and database when they are missing. The role owns its database and may create
 * databases and roles (the SQL console has its own). The role is not a superuser, so SQL injection cannot reach files
 * or programs of the host. Since PostgreSQL 16 the role can change only roles that it has created.
 */
async function prepareDatabase (sql: postgres.Sql, password: string | undefined): Promise<void> {
  // Utility statements take no parameters. The generated password is base64url, without quotes.
  const secret = password === undefined ? '' : `password '${password}'`
  // `ignoring` skips these errors: duplicate_object and duplicate_database.
  await sql.unsafe(`create role ${USER} login createdb createrole ${secret}`).catch(ignoring('42710'))
  await sql.unsafe(`create database ${DATABASE} owner ${USER}`).catch(ignoring('42P04'))
}
