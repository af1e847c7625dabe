import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
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
import { startDayPeer, startLimited, startLocanda, startPeer, temporaryFolder } from './process.ts'
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

const PARTS: Record<string, () => Promise<BenchResult[]>> = {
  codec: async () => report(await codecBench()),
  starts: async () => report(await starts()),
  servers: onServers,
  day: () => onCluster(async (url) => {
    const folder = temporaryFolder()
    const databaseUrl = await databaseForDay(url)
    const servers = [await startLocanda({ dataDir: folder, databaseUrl }), await startDayPeer(databaseUrl)] as const
    try {
      return report([...await dayBench(...servers), await creationWithUnit(servers[0])])
    } finally {
      for (const server of servers) await server.stop()
      rmSync(folder, { recursive: true })
    }
  }),
  desk: () => onCluster(async (url) => {
    const folders = [temporaryFolder(), temporaryFolder()] as const
    const few = await databaseForDay(url, { name: 'bench_desk', total: SOME, units: 200 })
    const many = await databaseForDay(url)
    const servers = {
      few: await startLocanda({ dataDir: folders[0], databaseUrl: few }),
      many: await startLocanda({ dataDir: folders[1], databaseUrl: many })
    }
    try {
      return report(await deskBench(servers))
    } finally {
      await Promise.all([servers.few.stop(), servers.many.stop()])
      for (const folder of folders) rmSync(folder, { recursive: true })
    }
  }),
  upgrade: () => onCluster(async (url) => report([await upgrade(url)])),
  ledger: () => onCluster(async (url) => {
    const folder = temporaryFolder()
    try {
      return [
        ...report(await ledgerBench(url, folder)),
        ...report(await rushBench(url, 'bench_rush', SMALL_RUSH))
      ]
    } finally {
      rmSync(folder, { recursive: true })
    }
  }),
  files: async () => [
    ...await onCluster(async (url) => [...report(await filesBench(url)), ...report(await downloads(url))]),
    ...await onServer(async (server) => report(await uploads(server)))
  ],
  backups: async () => [
    ...report(await backupThroughput()),
    ...await onCluster(async (url) => report(await nightlyBackup(url)))
  ],
  events: () => onCluster(async (url) => {
    const dataDir = temporaryFolder()
    const master = randomBytes(32)
    const databaseUrl = await fill(url, 'bench_events', FEW)
    const environ = {
      // A trusted proxy has no connection limit. Any other client IP may open only a share of the connections.
      TODAY, MASTER_KEY: master.toString('base64'), WEBHOOKS_TO_LOOPBACK: 'true', TRUST_PROXY: '127.0.0.0/8'
    }
    const server = await startLocanda({ dataDir, databaseUrl, environ })
    try {
      return report([
        await slowReceiver(server, databaseUrl), await manyListeners(server, databaseUrl, createKeys(master))
      ])
    } finally {
      await server.stop()
      rmSync(dataDir, { recursive: true })
    }
  }),
  pdf: async () => report(await pdfBench()),
  scanning: async () => {
    const results: BenchResult[] = []
    for (const part of scanningParts) results.push(...report(await part()))
    return results
  },
  accuracy: async () => {
    if (rows === undefined) process.stdout.write(`${await accuracyTable()}\n\n`)
    process.stdout.write(`${await damageTable(rows?.split(',') ?? [])}\n`)
    return []
  },
  instances: () => onCluster(async (url) => report(await instances(url))),
  rush: () => onCluster(async (url) => report(await rushBench(url, 'bench_rush', BIG_RUSH)))
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
for (const [name, part] of Object.entries(PARTS)) {
  if (only === undefined ? !BY_NAME.includes(name) : name === only) results.push(...await part())
}
process.exitCode = (only === 'accuracy' || results.length > 0) && results.every(({ ok }) => ok) ? 0 : 1

async function onCluster (measure: (url: string) => Promise<BenchResult[]>): Promise<BenchResult[]> {
  const dataDir = temporaryFolder()
  const { url, stop } = await startEmbedded({ dataDir, log: () => {} })
  try {
    return await measure(url)
  } finally {
    await stop()
    rmSync(dataDir, { recursive: true })
  }
}

async function onServer (measure: (server: Awaited<ReturnType<typeof startLocanda>>) => Promise<BenchResult[]>) {
  const dataDir = temporaryFolder()
  const server = await startLocanda({ dataDir })
  try {
    return await measure(server)
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true })
  }
}

async function onServers (): Promise<BenchResult[]> {
  const dataDir = temporaryFolder()
  const cluster = await startEmbedded({ dataDir, log: () => {} })
  const closing: (() => void | Promise<void>)[] = [() => rmSync(dataDir, { recursive: true }), cluster.stop]
  const started = async <T extends { stop (): Promise<void> }>(server: Promise<T>): Promise<T> => {
    closing.push((await server).stop)
    return server
  }
  const locanda = (databaseUrl: string) => {
    const own = temporaryFolder()
    closing.push(() => rmSync(own, { recursive: true }))
    return started(startLocanda({ dataDir: own, databaseUrl }))
  }
  try {
    const few = await fill(cluster.url, 'bench_few', FEW)
    const small = await locanda(few)
    const peer = await started(startPeer(few))
    const compared = report([
      ...await throughput(small, peer), await endurance(small), await bearer(small), await underSignIns(small)
    ])
    const own = temporaryFolder()
    closing.push(() => rmSync(own, { recursive: true }))
    const masterKey = randomBytes(32).toString('base64')
    const others = await fill(cluster.url, 'bench_limits', FEW)
    const limited = (limits: boolean) => started(startLimited(others, own, masterKey, limits))
    const creations = await databaseForCreations(cluster.url)
    compared.push(...report([
      await costOfLimits(await limited(true), await limited(false)),
      await amongSlowClients(small),
      await creation(await locanda(creations), await started(startPeer(creations)))
    ]))
    const many = await fill(cluster.url, 'bench_many', MANY)
    const large = await locanda(many)
    const bare = await started(startPeer(many))
    const medium = await locanda(await fill(cluster.url, 'bench_some', SOME))
    return [
      ...compared,
      ...report([
        ...await growth(large, small), ...await searching(large, bare), ...await dashboard(large, medium, bare)
      ]),
      ...report(await memory(large, MANY))
    ]
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

function report (results: BenchResult[]): BenchResult[] {
  for (const { name, ratio, unit = 'x', bound, ok, detail } of results) {
    const value = (ratio.toFixed(2) + unit).padStart(10)
    process.stdout.write(`${ok ? 'ok   ' : 'MISS '}  ${name.padEnd(62)} ${value}  ${bound.padEnd(9)} (${detail})\n`)
  }
  return results
}
