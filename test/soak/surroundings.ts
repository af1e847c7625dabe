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

/** Application name that distinguishes the driver's connections from the server's. */
export const DRIVER = 'soak'

/** All services around the server, on loopback. */
export interface Surroundings {
  police: StandIn
  smtp: Smtp
  /** Set while the mail server rejects all mails. */
  mailIsRefused: { value: boolean }
  receiver: Receiver
  connection: Connection
  keys: Keys
  /** An administrator's header. */
  admin: Record<string, string>
  /** Port of Node's inspector, opened by SIGUSR1. */
  inspector: number
  /** Environment of each server. */
  environ: Record<string, string>
  stop (): Promise<void>
}

/** Starts a database, a misbehaving police service, a mail server and a webhook receiver. */
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
    // The production default, because tests use a higher one.
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
