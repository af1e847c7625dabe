import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKeys } from '#src/lib/secrets.ts'
import { connect, type Connection } from '#src/plugins/database/connect.ts'
import { productionEnviron } from '#test/alloggiati/stand-in.ts'
import { API_KEY } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { chance } from './chance.ts'
import { client } from './client.ts'
import { crashableCluster } from './cluster.ts'
import { moodyPolice } from './police.ts'
import { deaths, slot } from './slot.ts'
import { judge, type Verdict } from './verdict.ts'

export interface Plan {
  /** How many servers are killed, and how many times PostgreSQL. */
  kills: number
  pgKills: number
  seed: number
  /** Told now and then how far it is. */
  progress?: (text: string) => void
}

export interface Result extends Verdict {
  kills: number
  pgKills: number
  /** How many of both were at which step; the others at any instant. */
  atSteps: Record<string, number>
}

/** Servers side by side on one database, so that while one starts another works. */
const SLOTS = 3
const CLIENTS = 4
/** Starts in a row that may fail: PostgreSQL may be down for a while, but not for good. */
const PATIENCE = 30
const HARASS_MS = 150

/**
 * Kills servers and PostgreSQL at any instant and at every step, while clients enter guests with a police that
 * misbehaves; then lets the last server put everything right, and judges.
 */
export async function crash ({ kills, pgKills, seed, progress = () => {} }: Plan): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-crash-'))
  const random = chance(seed)
  const masterKey = randomBytes(32)
  const cluster = await crashableCluster(join(folder, 'cluster'))
  const police = await moodyPolice(folder, random)
  const { sql, db, close } = connect(cluster.url, 2)
  const environ = {
    ...productionEnviron(police),
    DATABASE_URL: cluster.url,
    DATA_DIR: join(folder, 'server'),
    MASTER_KEY: masterKey.toString('base64'),
    API_KEY,
    RATE_LIMIT_MAX: '1000000',
    NODE_COMPILE_CACHE: join(folder, 'compiled')
  }
  const over = new AbortController()
  const done = { kills: 0, pgKills: 0, atSteps: {} as Record<string, number> }
  const onStep = (step: string, postgres: boolean) => {
    done.atSteps[step] = (done.atSteps[step] ?? 0) + 1
    if (postgres) done.pgKills++
  }
  try {
    const warm = await startServer(environ, new URL('server.ts', import.meta.url))
    await warm.end()

    const plan = deaths(random)
    const slots = Array.from({ length: SLOTS }, () => slot(environ, cluster.pidFile, onStep))
    const people = client(random, () => random.one([...slots.filter(({ server }) => server), undefined])?.server)
    const working = Array.from({ length: CLIENTS }, () => people.work())
    const harassing = harass(sql, over.signal)
    let atInstants = 0
    let failures = 0
    await Promise.all(slots.map(async (each) => {
      while (done.kills < kills || done.pgKills < pgKills) {
        const due = Math.floor((done.kills / kills) * pgKills) - done.pgKills
        const postgres = due > 0 || done.kills >= kills
        // Every other time at an instant, not at a step.
        if (postgres && atInstants++ % 2 === 0 && cluster.kill()) done.pgKills++
        const killed = await each.live(plan(postgres && atInstants % 2 === 0))
        failures = killed ? 0 : failures + 1
        if (failures > PATIENCE) throw new Error('no server starts any more')
        if (killed) done.kills++
        if (done.kills % 20 === 0) progress(`${done.kills} kills, ${done.pgKills} of PostgreSQL`)
      }
    }))
    people.stop()
    over.abort()
    await Promise.all([...working, harassing])
    police.on = {}
    await settleAll(environ, sql)
    return { ...done, ...await judge({ sql, db }, createKeys(masterKey), people.told, police.acquired()) }
  } finally {
    over.abort()
    await police.stop()
    await close()
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * All the time: the dead are not waited for, and the living are taken for dead by whoever sweeps. That must do no harm
 * either.
 */
async function harass (sql: Connection['sql'], over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await expireLeases(sql).catch(() => { /* PostgreSQL is starting. */ })
    await sleep(HARASS_MS)
  }
}

async function expireLeases (sql: Connection['sql']): Promise<void> {
  await sql`update invii set lease_fino_al = now() where stato in ('pronto', 'preso', 'in_invio')`
}

/** Servers that nobody kills, until nothing is under way any more. */
async function settleAll (environ: Record<string, string>, sql: Connection['sql']): Promise<void> {
  for (;;) {
    // PostgreSQL may be starting still.
    while (!await expireLeases(sql).then(() => true, () => false)) await sleep(HARASS_MS)
    const server = await startServer(environ, new URL('server.ts', import.meta.url))
    for (let waited = 0; waited < 100; waited++) {
      const open =
        await sql`select from invii where stato in ('preso', 'in_invio') or (stato = 'pronto' and lease_fino_al < now())`
      if (open.length === 0) break
      await sleep(100)
    }
    await server.end()
    const left = await sql`select from invii where stato in ('pronto', 'preso', 'in_invio')`
    if (left.length === 0) return
  }
}
