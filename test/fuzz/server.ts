import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { kindOf } from '#src/alloggiati/ledger/alarms/alarm-kinds.ts'
import { readConfig } from '#src/config/config.ts'
import { serviceKey } from '#src/identity/tokens/machine-tokens.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { API_KEY } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { startSmtp } from '#test/smtp.ts'

/** A server process with optional features enabled. */
interface FuzzServer {
  address: string
  apiKey: string
  serviceKey: string
  /**
   * Log lines at level error or above. Excludes the alarm about suspended sending, which a generated request may cause.
   */
  errors (): Record<string, unknown>[]
  end (): Promise<void>
}

/** @param databaseUrl without it the server starts its own PostgreSQL */
export async function fuzzServer (databaseUrl?: string): Promise<FuzzServer> {
  const folder = await mkdtemp(join(tmpdir(), 'locanda-fuzz-'))
  const atEnd: (() => unknown)[] = []
  const smtp = await startSmtp({ teardown: (work: () => unknown) => { atEnd.push(work) } })
  const environ = {
    API_KEY,
    DATA_DIR: folder,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    MASTER_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: 'https://locanda.example',
    ADMIN_EMAIL: 'prima@example.org',
    ADMIN_PASSWORD: 'una-frase-lunga-per-la-prima',
    SIGNUP_ENABLED: 'true',
    SMTP_URL: smtp.url,
    MAIL_FROM: 'locanda@example.org',
    QUERY_PASSWORD: 'una-frase-per-la-console',
    RATE_LIMIT_MAX: '100000000',
    RATE_LIMIT_LOGIN_MAX: '1000000',
    RATE_LIMIT_HEAVY_MAX: '100000000'
  }
  const config = readConfig(environ)
  const { message: suspended } = kindOf('suspended')
  const { PATH = '', HOME = '' } = process.env
  const server = await startServer({ PATH, HOME, ...environ })
  return {
    address: server.address,
    apiKey: API_KEY,
    serviceKey: serviceKey(config, createKeys(config.MASTER_KEY)),
    errors: () => server.lines.filter(({ level, msg }) => Number(level) >= 50 && msg !== suspended),
    async end () {
      await server.end()
      for (const work of atEnd) await work()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
