import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { createKeys } from '#src/lib/secrets.ts'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { backupThroughput, nightlyBackup } from './backups.ts'
import { codecBench } from './codec.ts'
import { creation, databaseForCreations } from './creation.ts'
import { fill, TODAY } from './data.ts'
import { creationWithUnit, dayBench } from './day.ts'
import { databaseForDay } from './day-data.ts'
import { deskBench } from './desk.ts'
import { filesBench } from './files.ts'
import { downloads } from './files-download.ts'
import { uploads } from './files-upload.ts'
import { manyListeners, slowReceiver } from './followers.ts'
import type { BenchResult } from './harness.ts'
import { bearer, underSignIns } from './identity.ts'
import { instances } from './instances.ts'
import { ledgerBench } from './ledger.ts'
import { amongSlowClients, costOfLimits } from './limits.ts'
import { pdfBench } from './pdf.ts'
import { startDayPeer, startLimited, startLocanda, startPeer, temporaryFolder, type Running } from './process.ts'
import { dashboard, endurance, growth, memory, searching, throughput } from './requests.ts'
import { BIG_RUSH, rushBench, SMALL_RUSH } from './rush.ts'
import { accuracyTable, damageTable, scanningParts } from './scanning.ts'
import { starts } from './start.ts'
import { upgrade } from './upgrade.ts'

/*
 * Measures speed as ratios against a peer in the same run, so that claims hold on any machine. Needs Linux (`/proc`),
 * and starts its own PostgreSQL. A name runs one part: `npm run bench -- ledger`. `rush`, `accuracy` and `instances`
 * take minutes and run only by name. `accuracy --rows shadow,blur` reads only these kinds of damaged pictures.
 */
const FEW = 1000
const SOME = 10_000
const MANY = 1_000_000

/** Opens folders and servers for a part, and closes them after it in reverse order. */
interface Opener {
  folder (): string
  /** Starts a PostgreSQL and returns its URL. */
  cluster (): Promise<string>
  /** Starts Locanda with a folder of its own. */
  locanda (options: { databaseUrl?: string, environ?: Record<string, string> }): Promise<Running>
  server (started: Promise<Running>): Promise<Running>
}

const PARTS: Record<string, (open: Opener) => Promise<void>> = {
  codec: async () => report(await codecBench()),
  starts: async () => report(await starts()),
  servers,
  desk: async (open) => {
    const url = await open.cluster()
    const few = await databaseForDay(url, { name: 'bench_desk', total: SOME, units: 200 })
    const databaseUrl = await databaseForDay(url)
    const many = await open.locanda({ databaseUrl })
    report(await deskBench({
      few: await open.locanda({ databaseUrl: few }), many, peer: await open.server(startPeer(few))
    }))
    report(await dayBench(many, await open.server(startDayPeer(databaseUrl))))
    // Must be last, because it adds bookings.
    report([await creationWithUnit(many)])
  },
  upgrade: async (open) => report([await upgrade(await open.cluster())]),
  ledger: async (open) => {
    const url = await open.cluster()
    report(await ledgerBench(url, open.folder()))
    report(await rushBench(url, 'bench_rush', SMALL_RUSH))
  },
  files: async (open) => {
    const url = await open.cluster()
    report(await filesBench(url))
    report(await downloads(url))
    report(await uploads(await open.locanda({})))
  },
  backups: async (open) => {
    report(await backupThroughput())
    report(await nightlyBackup(await open.cluster()))
  },
  events: async (open) => {
    const master = randomBytes(32)
    const databaseUrl = await fill(await open.cluster(), 'bench_events', FEW)
    const environ = {
      // A trusted proxy has no connection limit. Any other client IP may open only a share of the connections.
      TODAY, MASTER_KEY: master.toString('base64'), WEBHOOKS_TO_LOOPBACK: 'true', TRUST_PROXY: '127.0.0.0/8'
    }
    const server = await open.locanda({ databaseUrl, environ })
    report([await slowReceiver(server, databaseUrl), await manyListeners(server, databaseUrl, createKeys(master))])
  },
  pdf: async () => report(await pdfBench()),
  scanning: async () => {
    for (const part of scanningParts) report(await part())
  },
  accuracy: async () => {
    if (rows === undefined) process.stdout.write(`${await accuracyTable()}\n\n`)
    process.stdout.write(`${await damageTable(rows?.split(',') ?? [])}\n`)
  },
  instances: async (open) => report(await instances(await open.cluster())),
  rush: async (open) => report(await rushBench(await open.cluster(), 'bench_rush', BIG_RUSH))
}

/** Parts that take minutes run only by name. */
const BY_NAME = ['rush', 'accuracy', 'instances']

const { values: { rows }, positionals: [only] } = parseArgs({
  options: { rows: { type: 'string' } }, allowPositionals: true
})
if (only !== undefined && !Object.hasOwn(PARTS, only)) {
  process.stderr.write(`no part ${only}; there are ${Object.keys(PARTS).join(', ')}\n`)
}
const results: BenchResult[] = []
const loads = [loadavg()[0]!]
process.stdout.write(`load ${loads[0]!.toFixed(1)}\n`)
for (const [name, part] of Object.entries(PARTS)) {
  if (only === undefined ? !BY_NAME.includes(name) : name === only) await run(name, part)
}
const missed = results.filter(({ ok }) => !ok).length
const seconds = Math.round(performance.now() / 1000)
const time = `${Math.floor(seconds / 60)} min ${seconds % 60} s`
const load = `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`
process.stdout.write(`${results.length} measures, ${missed} missed, ${time}, load ${load}\n`)
process.exitCode = (only === 'accuracy' || results.length > 0) && missed === 0 ? 0 : 1

/** Runs a part. When it throws, the others still run. */
async function run (name: string, part: (open: Opener) => Promise<void>): Promise<void> {
  const closing: (() => void | Promise<void>)[] = []
  const open: Opener = {
    folder () {
      const path = temporaryFolder()
      closing.push(() => rmSync(path, { recursive: true }))
      return path
    },
    async cluster () {
      const { url, stop } = await startEmbedded({ dataDir: open.folder(), log: () => {} })
      closing.push(stop)
      return url
    },
    locanda: (options) => open.server(startLocanda({ dataDir: open.folder(), ...options })),
    async server (started) {
      closing.push((await started).stop)
      return started
    }
  }
  try {
    await part(open)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
    report([{ name: `${name} has thrown`, ratio: NaN, bound: 'no error', ok: false, detail: String(error) }])
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

async function servers (open: Opener): Promise<void> {
  const url = await open.cluster()
  const few = await fill(url, 'bench_few', FEW)
  const small = await open.locanda({ databaseUrl: few })
  report(await throughput(small, await open.server(startPeer(few))))
  report([await endurance(small), await bearer(small), await underSignIns(small)])
  const folder = open.folder()
  const masterKey = randomBytes(32).toString('base64')
  const others = await fill(url, 'bench_limits', FEW)
  const limited = (limits: boolean) => open.server(startLimited(others, folder, masterKey, limits))
  report([await costOfLimits(await limited(true), await limited(false)), await amongSlowClients(small)])
  const databaseUrl = await databaseForCreations(url)
  report([await creation(await open.locanda({ databaseUrl }), await open.server(startPeer(databaseUrl)))])
  const many = await fill(url, 'bench_many', MANY)
  const large = await open.locanda({ databaseUrl: many })
  const bare = await open.server(startPeer(many))
  const medium = await open.locanda({ databaseUrl: await fill(url, 'bench_some', SOME) })
  report(await growth(large, small))
  report(await searching(large, bare))
  report(await dashboard(large, medium, bare))
  report(await memory(large, MANY))
}

function report (measured: readonly BenchResult[]): void {
  loads.push(loadavg()[0]!)
  for (const { name, ratio, unit = 'x', bound, ok, detail } of measured) {
    const value = (ratio.toFixed(2) + unit).padStart(10)
    process.stdout.write(`${ok ? 'ok   ' : 'MISS '}  ${name.padEnd(62)} ${value}  ${bound.padEnd(9)} (${detail})\n`)
  }
  results.push(...measured)
}
