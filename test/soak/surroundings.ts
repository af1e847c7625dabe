import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { readConfig } from '#src/config/config.ts'
import { serviceKey } from '#src/identity/tokens/machine-tokens.ts'
import { createKeys, type Keys } from '#src/lib/secrets.ts'
import { connect, type Connection } from '#src/database/connect.ts'
import { productionEnviron, type StandIn } from '#test/alloggiati/stand-in.ts'
import { crashableCluster } from '#test/crash/cluster.ts'
import { misbehavingPolice } from '#test/crash/police.ts'
import type { SeededRandom } from '#test/crash/seeded-random.ts'
import { API_KEY } from '#test/helper.ts'
import { startReceiver, type Receiver } from '#test/events/receiver.ts'
import { smtpError, startSmtp, type Smtp } from '#test/smtp.ts'
import { freePort } from '#test/free-port.ts'

/** By this name the driver's own connections are told from the server's. */
export const DRIVER = 'soak'

/** Everybody with whom the server deals, on loopback. */
export interface Surroundings {
  police: StandIn
  smtp: Smtp
  /** Whether the mail server takes no mail at present. */
  mailIsRefused: { value: boolean }
  receiver: Receiver
  connection: Connection
  keys: Keys
  /** The header of an administrator. */
  admin: Record<string, string>
  /** Where Node's inspector of each server listens once it is woken. */
  inspector: number
  /** What each server is started with. */
  environ: Record<string, string>
  stop (): Promise<void>
}

/** A database, a police that misbehaves, a mail server and a receiver of events. */
export async function startSurroundings (random: SeededRandom): Promise<Surroundings> {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-soak-'))
  const atEnd: (() => unknown)[] = []
  const t = { teardown: (work: () => unknown) => { atEnd.push(work) } }
  const masterKey = randomBytes(32)
  const keys = createKeys(masterKey)
  const cluster = await crashableCluster(join(folder, 'cluster'))
  const police = await misbehavingPolice(folder, random)
  const mailIsRefused = { value: false }
  const smtp = await startSmtp(t, {
    decide: () => { if (mailIsRefused.value) throw smtpError(451, 'later') }
  })
  const receiver = await startReceiver(t)
  const connection = connect(cluster.url, 2, { application_name: DRIVER })
  const inspector = await freePort()
  const { PATH = '', HOME = '' } = process.env
  const environ = {
    PATH,
    HOME,
    ...productionEnviron(police),
    API_KEY,
    DATABASE_URL: cluster.url,
    DATA_DIR: join(folder, 'server'),
    MASTER_KEY: masterKey.toString('base64'),
    PUBLIC_URL: 'https://locanda.example',
    ADMIN_EMAIL: 'prima@example.org',
    ADMIN_PASSWORD: 'una-frase-lunga-per-la-prima',
    SMTP_URL: smtp.url,
    MAIL_FROM: 'locanda@example.org',
    ALARM_EMAIL: 'avvisi@example.org',
    WEBHOOKS_TO_LOOPBACK: 'true',
    RATE_LIMIT_MAX: '100000000',
    RATE_LIMIT_HEAVY_MAX: '100000000',
    RATE_LIMIT_LOGIN_MAX: '1000000',
    NODE_OPTIONS: `--inspect-port=127.0.0.1:${inspector} --inspect-publish-uid=http`,
    // As without it: a test waits longer.
    OVERLOAD_AFTER_MS: '2000',
    NODE_COMPILE_CACHE: join(folder, 'compiled')
  }
  return {
    police,
    smtp,
    mailIsRefused,
    receiver,
    connection,
    keys,
    inspector,
    admin: { authorization: `Bearer ${serviceKey(readConfig(environ), keys)}` },
    environ,
    async stop () {
      await connection.close()
      await police.stop()
      for (const work of atEnd) await work()
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}
