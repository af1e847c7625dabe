import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import postgres from 'postgres'
import { readConfig } from '#src/config/config.ts'
import { serviceKey } from '#src/identity/tokens/machine-tokens.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { API_KEY } from '#test/helper.ts'
import { startServer, type ServerProcess } from '#test/running-server.ts'

/** The attacked server, and the measurements that judge the attack. */
export interface Target extends ServerProcess {
  /** The environment of the server, except its log level. Scenarios run commands of the tool with it. */
  env: Record<string, string>
  port: number
  sql: postgres.Sql
  /** A key with administrator rights, for machines. */
  serviceKey: string
  /** A GET request with the API key. */
  get (path: string): Promise<Response>
  /** Current and peak resident memory in megabytes. */
  memory (): { now: number, peak: number }
  stop (): Promise<void>
}

/** @param openFilesMax maximum number of open files and sockets of the server */
export async function startTarget (environ: Record<string, string> = {}, openFilesMax?: number): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'locanda-attack-'))
  const cluster = await startEmbedded({ dataDir: folder, log: () => {} })
  const { PATH = '', HOME = '' } = process.env
  const env = {
    PATH,
    HOME,
    API_KEY,
    DATA_DIR: folder,
    DATABASE_URL: cluster.url,
    MASTER_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: 'https://locanda.example',
    ADMIN_EMAIL: 'prima@example.org',
    ADMIN_PASSWORD: 'una-frase-lunga-per-la-prima',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_MAX: '100000000',
    ...environ
  }
  const config = readConfig(env)
  const server = await startServer({ ...env, LOG_LEVEL: 'info' }, undefined, openFilesMax)
  const sql = postgres(cluster.url, { max: 2, onnotice: () => {} })
  const kilobytes = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1])
  return {
    ...server,
    env,
    port: Number(new URL(server.address).port),
    sql,
    serviceKey: serviceKey(config, createKeys(config.MASTER_KEY)),
    get: (path) => fetch(server.address + path, { headers: { 'x-api-key': API_KEY } }),
    memory: () => ({ now: kilobytes('VmRSS') / 1024, peak: kilobytes('VmHWM') / 1024 }),
    async stop () {
      await server.end()
      await sql.end()
      await cluster.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Inserts bookings from 2020-01-01 on, fifty a day. */
export async function fillBookings (sql: postgres.Sql, count: number): Promise<void> {
  await sql`
    insert into prenotazioni (nome_cognome, lingua, email, paese_id, check_in, check_out, numero_ospiti, idf_gen)
    select 'Anna Bianchi ' || md5(n::text), 'IT', 'anna' || n || '@example.org', 380, day, day + 3, 2, 'IDF' || n
    from generate_series(1, ${count}::int) n, lateral (select date '2020-01-01' + n / 50 as day) d`
  await sql`vacuum analyze prenotazioni`
}

/** Runs an attack on a separate server. */
export async function onTarget<T> (
  environ: Record<string, string>, attack: (target: Target) => Promise<T>
): Promise<T> {
  const target = await startTarget(environ)
  try {
    return await attack(target)
  } finally {
    await target.stop()
  }
}
