import { execFile, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { Test } from 'tap'
import { freePort } from '#test/free-port.ts'

const MONITOR_TRIES = 50
const PROGRAMS = ['radosgw', 'radosgw-admin', 'ceph', 'ceph-mon', 'ceph-osd', 'monmaptool']
const missing = PROGRAMS.filter((program) => spawnSync(program, ['--version']).error !== undefined)

/** The reason for `skip` without an S3 server on this machine, else false. */
export const noRadosgw = missing.length === 0 ? false : `not installed: ${missing.join(', ')}`

/** Environment of a server that stores its files in the bucket. */
interface S3Environ extends Record<string, string> {
  S3_ENDPOINT: string
  S3_BUCKET: string
  S3_REGION: string
  S3_ACCESS_KEY_ID: string
  S3_SECRET_ACCESS_KEY: string
}

interface Radosgw {
  environ: S3Environ
  /** Creates another, empty bucket. */
  makeBucket (name: string): Promise<S3Environ>
  /** Suspends the server until `wake`, so that it responds to no request. */
  freeze (): void
  wake (): void
}

/**
 * Starts Ceph's S3 server on loopback: a monitor, an in-memory store and the gateway, in a separate folder. The start
 * takes about ten seconds. It stops when the test ends.
 */
export async function startRadosgw (t: Pick<Test, 'teardown'>): Promise<Radosgw> {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-ceph-'))
  const [monitorPort, port] = [await freePort(), await freePort()]
  const monitor = `v1:127.0.0.1:${monitorPort}`
  const children: ReturnType<typeof spawn>[] = []
  const killAll = () => { for (const child of children) child.kill('SIGKILL') }
  process.once('exit', killAll)
  t.teardown(async () => {
    process.off('exit', killAll)
    killAll()
    await Promise.all(children.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
    rmSync(folder, { recursive: true, force: true })
  })

  const config = join(folder, 'ceph.conf')
  const cluster = randomUUID()
  const device = randomUUID()
  for (const each of ['mon', 'osd', 'crash']) mkdirSync(join(folder, each))
  writeFileSync(config, configuration(folder, cluster, monitor))
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)(program, [...args, '-c', config], { timeout: 120_000 })
  const begin = (program: string, ...args: string[]) => {
    const child = spawn(program, ['-f', ...args, '-c', config], { stdio: 'ignore' })
    children.push(child)
    return child
  }

  const map = join(folder, 'monmap')
  await promisify(execFile)('monmaptool', ['--create', '--fsid', cluster, '--addv', 'a', `[${monitor}]`, map])
  await run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map)
  begin('ceph-mon', '-i', 'a')
  await command(run, 'osd', 'new', device)
  await command(run, 'osd', 'crush', 'add', 'osd.0', '1', 'root=default', 'host=localhost')
  await run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', device)
  begin('ceph-osd', '-i', '0')
  const keys = { accessKeyId: 'chiave-di-prova', secretAccessKey: 'segreto-di-prova' }
  await run('radosgw-admin', 'user', 'create', '--uid=prova', '--display-name=prova',
    `--access-key=${keys.accessKeyId}`, `--secret-key=${keys.secretAccessKey}`)
  const gateway = begin('radosgw', '-n', 'client.rgw', `--rgw_frontends=beast endpoint=127.0.0.1:${port}`)
  const endpoint = `http://127.0.0.1:${port}`
  await responses(endpoint, gateway)

  const makeBucket = async (name: string): Promise<S3Environ> => {
    const client = new S3Client({ endpoint, region: 'us-east-1', credentials: keys, forcePathStyle: true })
    await client.send(new CreateBucketCommand({ Bucket: name }))
    client.destroy()
    return {
      S3_ENDPOINT: endpoint,
      S3_BUCKET: name,
      S3_REGION: 'us-east-1',
      S3_ACCESS_KEY_ID: keys.accessKeyId,
      S3_SECRET_ACCESS_KEY: keys.secretAccessKey
    }
  }
  return {
    environ: await makeBucket('locanda'),
    makeBucket,
    freeze: () => { gateway.kill('SIGSTOP') },
    wake: () => { gateway.kill('SIGCONT') }
  }
}

/** Retries commands, because a monitor sometimes refuses them just after its start. The commands are idempotent. */
async function command (run: (...words: [string, ...string[]]) => Promise<unknown>, ...words: string[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await run('ceph', ...words)
      return
    } catch (err) {
      if (tries === MONITOR_TRIES) throw err
    }
  }
}

/** One monitor and one store, without keys and replicas. */
function configuration (folder: string, cluster: string, monitor: string): string {
  const settings = {
    fsid: cluster,
    'mon host': monitor,
    'mon initial members': 'a',
    'ms bind msgr2': false,
    'public addr': '127.0.0.1',
    'auth cluster required': 'none',
    'auth service required': 'none',
    'auth client required': 'none',
    'mon data': join(folder, 'mon'),
    'osd data': join(folder, 'osd'),
    'run dir': folder,
    'crash dir': join(folder, 'crash'),
    'admin socket': '',
    'log file': '',
    'pid file': '',
    'osd objectstore': 'memstore',
    'memstore device bytes': 2 ** 31,
    'osd pool default size': 1,
    'osd pool default pg num': 1,
    'osd pool default pg autoscale mode': 'off',
    'mon allow pool size one': true,
    'mon data avail crit': 1,
    // The configuration adds the store to the map, because without a manager the store cannot add itself.
    'osd crush update on start': false,
    'osd class update on start': false,
    'osd crush chooseleaf type': 0,
    'rgw dynamic resharding': false
  }
  return `[global]\n${Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`).join('')}`
}

async function responses (endpoint: string, gateway: ReturnType<typeof spawn>): Promise<void> {
  for (let attempt = 0; attempt < 600 && gateway.exitCode === null; attempt++) {
    const response = await fetch(endpoint).catch(() => undefined)
    if (response?.ok) return
    await sleep(200)
  }
  throw new Error('radosgw does not answer')
}
