import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKeys } from '#src/lib/secrets.ts'
import { connect, type Connection } from '#src/database/connect.ts'
import { productionEnviron } from '#test/alloggiati/stand-in.ts'
import { API_KEY } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { checkRecords, type Faults } from './check-records.ts'
import { addSecondHouse, findMisdirected } from './second-house.ts'
import { sendingClients } from './clients.ts'
import { crashableCluster, type Cluster } from './cluster.ts'
import { misbehavingPolice } from './police.ts'
import { killPlans, restartedServer, type RestartedServer } from './restarted-server.ts'
import { seededRandom } from './seeded-random.ts'

interface Plan {
  /** Number of kills of servers, and of PostgreSQL. */
  kills: number
  pgKills: number
  seed: number
  /** Gets the progress as text. */
  progress?: (text: string) => void
}

export interface Result extends Faults {
  kills: number
  pgKills: number
  /** Number of kills at each step, of servers and PostgreSQL. All other kills were at random times. */
  atSteps: Record<string, number>
  /** Rows sent with the account of another establishment. */
  misdirected: string[]
}

/** Concurrent servers on one database, so that one works while another starts. */
const SERVERS = 3
const CLIENTS = 4
/** Maximum failed starts in a row, while PostgreSQL recovers or is killed again. */
const MAX_FAILED_STARTS = 30
/** The product's own limit for PostgreSQL's recovery. */
const RECOVERY_LIMIT_MS = 300_000
const EXPIRE_EVERY_MS = 150
/** Maximum number of servers that finish all submissions at the end. */
const MAX_LAST_SERVERS = 20

/**
 * Kills servers and PostgreSQL at every step and at random times, while clients submit guests to a misbehaving police
 * service. Then it lets the last servers finish, and checks the records.
 */
export async function runCrashTest ({ kills, pgKills, seed, progress = () => {} }: Plan): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-crash-'))
  const random = seededRandom(seed)
  const masterKey = randomBytes(32)
  const cluster = await crashableCluster(join(folder, 'cluster'))
  const police = await misbehavingPolice(folder, random)
  const { sql, db, close } = connect(cluster.url, 2)
  const environ = {
    ...productionEnviron(police),
    DATABASE_URL: cluster.url,
    DATA_DIR: join(folder, 'server'),
    MASTER_KEY: masterKey.toString('base64'),
    API_KEY,
    RATE_LIMIT_MAX: '1000000'
  }
  const over = new AbortController()
  const servers: RestartedServer[] = []
  const clients = sendingClients(
    random,
    () => random.pick([...servers.filter(({ server }) => server), undefined])?.server
  )
  const done = { kills: 0, pgKills: 0, atSteps: {} as Record<string, number> }
  const onStep = (step: string, postgres: boolean) => {
    done.atSteps[step] = (done.atSteps[step] ?? 0) + 1
    if (postgres) done.pgKills++
  }
  let running: Promise<void>[] = []
  const endAll = async () => {
    clients.stop()
    over.abort()
    await Promise.all(servers.map(async ({ server }) => await server?.kill()))
    // A server may still be starting.
    await Promise.allSettled(running)
    await police.stop()
    await close()
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const warm = await startServer(environ, new URL('server.ts', import.meta.url))
    await warm.end()
    await addSecondHouse(db, createKeys(masterKey))

    const plan = killPlans(random)
    servers.push(...Array.from({ length: SERVERS }, () => restartedServer(environ, cluster.pidFile, onStep)))
    const working = Array.from({ length: CLIENTS }, () => clients.work())
    const expiring = keepExpiringLeases(sql, over.signal)
    let atInstants = 0
    let failures = 0
    running = servers.map(async (each) => {
      while (!over.signal.aborted && (done.kills < kills || done.pgKills < pgKills || await count(sql) <= kills)) {
        const postgres = done.pgKills < Math.floor(Math.min(done.kills / kills, 1) * pgKills)
        // Kills PostgreSQL alternately at a random time and at a step.
        if (postgres && atInstants++ % 2 === 0 && cluster.kill()) done.pgKills++
        const failure = await each.runOnce(plan(postgres && atInstants % 2 === 0))
        failures = failure === undefined ? 0 : failures + 1
        if (failures > MAX_FAILED_STARTS) throw new Error(`no server starts any more: ${failure?.message}`)
        if (failure === undefined) done.kills++
        else await recovered(sql, cluster, over.signal)
        if (done.kills % 20 === 0) progress(`${done.kills} servers killed, PostgreSQL ${done.pgKills} times`)
      }
    })
    await Promise.all(running)
    clients.stop()
    over.abort()
    await Promise.all([...working, expiring])
    police.on = {}
    await finishAll(environ, sql, cluster)
    const faults = await checkRecords({ sql, db }, createKeys(masterKey), clients.responses, police.acquired())
    const misdirected = await findMisdirected({ sql }, createKeys(masterKey), police.callsOf('Send'))
    await endAll()
    return { ...done, ...faults, misdirected }
  } catch (err) {
    // Rethrow the first error, which is the cause.
    await endAll().catch(() => {})
    throw err
  }
}

/**
 * Expires all leases repeatedly, so that no server waits for a killed one. A sweep then also takes leases of running
 * servers, which must not cause an error.
 */
async function keepExpiringLeases (sql: Connection['sql'], over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await expireLeases(sql).catch(() => { /* PostgreSQL is starting. */ })
    await sleep(EXPIRE_EVERY_MS)
  }
}

/** Waits for PostgreSQL after a failed start. */
async function recovered (sql: Connection['sql'], cluster: Cluster, over?: AbortSignal): Promise<void> {
  const deadline = Date.now() + RECOVERY_LIMIT_MS
  while (!over?.aborted && !await sql`select 1`.then(() => true, () => false)) {
    if (Date.now() > deadline) throw new Error(`PostgreSQL does not recover: ${cluster.said().join('; ')}`)
    await sleep(EXPIRE_EVERY_MS)
  }
}

/** Counts submissions. Servers on a slow machine run longer, until the count is high enough. */
async function count (sql: Connection['sql']): Promise<number> {
  return await sql<{ n: number }[]>`select count(*)::int as n from invii`.then(([row]) => row!.n, () => 0)
}

async function expireLeases (sql: Connection['sql']): Promise<void> {
  await sql`update invii set lease_fino_al = now() where stato in ('pronto', 'preso', 'in_invio')`
}

/** Runs servers without kills until no submission is in progress. */
async function finishAll (environ: Record<string, string>, sql: Connection['sql'], cluster: Cluster): Promise<void> {
  for (let starts = 0; starts < MAX_LAST_SERVERS; starts++) {
    await recovered(sql, cluster)
    await expireLeases(sql)
    const server = await startServer(environ, new URL('server.ts', import.meta.url))
    try {
      for (let waited = 0; waited < 100; waited++) {
        const underWay = await sql`
          select from invii where stato in ('preso', 'in_invio') or (stato = 'pronto' and lease_fino_al < now())`
        if (underWay.length === 0) break
        await sleep(100)
      }
    } finally {
      await server.end()
    }
    const left = await sql`select from invii where stato in ('pronto', 'preso', 'in_invio')`
    if (left.length === 0) return
  }
  throw new Error('some submissions never end')
}
