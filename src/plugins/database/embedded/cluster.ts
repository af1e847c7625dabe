import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chooseAccount } from './account.ts'
import { findBinaries } from './binaries.ts'
import { chooseSocketFolder, freePort, readPassword, SOCKET_PORT, urlOf, type Endpoint } from './endpoint.ts'
import { holdsCluster, initialise, locateFolder, secureFolder } from './folder.ts'
import type { Lease } from './lease.ts'
import { withLock } from './lock.ts'
import type { Log } from './problems.ts'
import { prepareDatabase, DATABASE, USER } from './role.ts'
import { attachAgain, attachOrStart, leave } from './running.ts'
import type { Site } from './site.ts'

const RETRY_MS = 1000

export interface EmbeddedCluster {
  connection: Endpoint & { user: string, database: string }
  /** As a `DATABASE_URL`, for the driver. */
  url: string
  /** True when this call started PostgreSQL, false when it was running. */
  owned: boolean
  /** From now on a cluster that ends is not started again: whoever ends this server may be ending both. */
  letGo (): void
  /**
   * Leaves the cluster. The last process to leave stops it, also if another started it; a killed process has left. One
   * that hangs is killed.
   * @param isSilent whether it is known not to answer
   */
  stop (isSilent?: boolean): Promise<void>
}

export interface EmbeddedOptions {
  /** The data live in its subfolder `postgres`; made, mode 0700, when it is missing. */
  dataDir: string
  log: Log
  /** Loopback TCP with a password instead of a Unix socket; where there are no sockets it is so anyway. */
  tcp?: boolean
  /** Called when a new cluster is being made, by a process of its own that takes seconds. */
  whenMaking?: () => void
  /** For tests: settings of PostgreSQL, in place of the usual ones. */
  settings?: Readonly<Record<string, string>>
}

/**
 * The PostgreSQL of one `DATA_DIR`: found running or started, made anew the first time. It outlives a killed server,
 * and several servers share it. While it is held it is watched: a cluster that breaks down under the server is started
 * again.
 * @throws EmbeddedError, one line for the operator, when it cannot run
 */
export async function startEmbedded (options: EmbeddedOptions): Promise<EmbeddedCluster> {
  const { dataDir, log, tcp = false, whenMaking = () => {}, settings = {} } = options
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const home = await realpath(dataDir)
  const locked = <T>(work: () => Promise<T>) => withLock(join(home, 'postgres.lock'), work)
  const state: { lease?: Lease, leaving: boolean, renewal?: Promise<void> } = { leaving: false }

  const hold = async (site: Site) => {
    // It may break before it is returned.
    let isLost = false
    const { lease, owned } = await attachOrStart(site, (endpoint) => {
      isLost = true
      state.lease = undefined
      if (!state.leaving) state.renewal ??= renew({ ...site, ...placeOf(endpoint) })
    }, () => !state.leaving)
    if (!isLost) state.lease = lease
    return { lease, owned }
  }
  const renew = async (site: Site) => {
    log('PostgreSQL incorporato: collegamento perso, lo riprendo')
    while (!state.leaving && !state.lease) {
      await locked(() => hold(site)).catch(async (err: Error) => {
        log(err.message)
        await sleep(RETRY_MS)
      })
    }
    state.renewal = undefined
  }

  const { site, owned, endpoint } = await locked(async () => {
    const site = await prepare(home, log, tcp, settings, whenMaking)
    const { lease, owned } = await hold(site)
    await prepareDatabase(lease.sql, site.password).catch(async (err: unknown) => {
      state.leaving = true
      await leave(site, lease)
      throw err
    })
    return { site, owned, endpoint: lease.endpoint }
  })

  return {
    connection: { ...endpoint, user: USER, database: DATABASE },
    url: urlOf(endpoint, USER, DATABASE),
    owned,
    letGo () {
      state.leaving = true
    },
    async stop (isSilent = false) {
      state.leaving = true
      await state.renewal
      const { lease } = state
      state.lease = undefined
      const stopped = await locked(async () => {
        const held = lease ?? await attachAgain(site)
        return held === undefined || await leave(site, held, isSilent)
      })
      log(`PostgreSQL incorporato: ${stopped ? 'fermato' : 'lasciato in esecuzione, altri lo usano'}`)
    }
  }
}

/** A cluster that is started again listens where its clients know it. */
function placeOf ({ host, port }: Endpoint): Pick<Site, 'socketFolder' | 'port'> {
  return { socketFolder: host.startsWith('/') ? host : undefined, port }
}

async function prepare (
  home: string,
  log: Log,
  tcp: boolean,
  settings: Site['settings'],
  whenMaking: () => void
): Promise<Site> {
  const folder = await locateFolder(home)
  const account = await chooseAccount(folder)
  const binaries = await findBinaries(account, home, log)
  const exists = await holdsCluster(folder, binaries.version)
  if (account) log(`PostgreSQL incorporato: non gira come root, lo eseguo come utente ${account.uid}`)
  const socketFolder = tcp ? undefined : await chooseSocketFolder(home, folder, account)
  const passwordFile = join(home, 'postgres.password')
  const password = socketFolder === undefined ? await readPassword(passwordFile) : undefined
  const port = socketFolder === undefined ? await freePort() : SOCKET_PORT
  const site = { home, folder, binaries, account, socketFolder, port, password, settings, log }
  if (exists) {
    await secureFolder(folder, account, log)
  } else {
    log(`PostgreSQL incorporato: preparo una base dati nuova in ${folder}`)
    await initialise(site, passwordFile, whenMaking)
  }
  return site
}
