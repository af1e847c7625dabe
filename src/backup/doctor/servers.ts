import type { FastifyBaseLogger } from 'fastify'
import pino from 'pino'
import type postgres from 'postgres'
import { checkAccounts, currentSuspension } from '#src/alloggiati/index.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import { type Config } from '#src/config/config.ts'
import { errorCode } from '#src/lib/error-code.ts'
import { checkProvider } from '#src/identity/index.ts'
import { lastMigration } from '#src/database/journal.ts'
import { knownMigrations } from '#src/database/migrate.ts'
import { classifySmtpError } from '#src/services/mail/smtp-errors.ts'
import { checkSmtp } from '#src/services/mail/transport.ts'
import { s3Settings } from '#src/services/files/backends/s3-backend.ts'
import type { Installation } from '../commands.ts'
import { failure, fault, ok, warning, type Found } from './finding.ts'

const MIN_VERSION = 140_000

/** Checks version, privileges and migrations. */
export async function database (sql: postgres.Sql, { QUERY_PASSWORD }: Config): Found {
  const [found] = await sql<[{ number: number, version: string, tables: boolean, schemas: boolean, roles: boolean }]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
      has_schema_privilege(current_schema(), 'CREATE') as tables,
      has_database_privilege(current_database(), 'CREATE') as schemas,
      (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) as roles`
  const { number, version, tables, schemas, roles } = found
  const name = `PostgreSQL ${version}`
  if (number < MIN_VERSION) return fault(`${name} è troppo vecchio: serve la versione 14 o una successiva`)
  if (!tables || !schemas) return fault(`${name}: dare all’utente CREATE sul database e sullo schema public`)
  const last = await lastMigration(sql)
  const newest = knownMigrations().at(-1)!.folderMillis
  if (last !== undefined && last > newest) {
    return fault(`${name}: il database è di una versione di Locanda più recente di questa: usare quella`)
  }
  if (last !== newest) return warning(`${name}: lo schema si aggiorna al prossimo avvio del server`)
  return QUERY_PASSWORD !== undefined && !roles
    ? warning(`${name}: senza CREATEROLE la console SQL resta spenta`)
    : ok(`${name}, schema aggiornato`)
}

const SKEW_MS = 5000

/** Compares the clocks of this machine and the database. Deadlines of the police depend on both. */
export async function clock (sql: postgres.Sql): Found {
  const before = Date.now()
  const [{ now }] = await sql<[{ now: string }]>`select (extract(epoch from clock_timestamp()) * 1000)::text as now`
  const after = Date.now()
  const skew = Math.max(before - Number(now), Number(now) - after, 0)
  return skew > SKEW_MS
    ? fault(`l’orologio di questa macchina e quello del database differiscono di ${Math.round(skew / 1000)} s: ` +
      'regolarli (NTP)')
    : ok('concorde con quello del database')
}

/** Checks the file store, without writing to it. */
export async function files ({ config, sql, backend }: Installation): Found {
  const place = s3Settings(config) ? `bucket S3 ${config.S3_BUCKET}` : 'cartella files di DATA_DIR'
  const [row] = await sql<{ id: string, adopted: boolean }[]>`
    select id, adopted_at is not null as adopted from file_store`
  try {
    if (!row?.adopted) {
      // Checks that the bucket can be read.
      if (s3Settings(config)) await backend.list('00')[Symbol.asyncIterator]().next()
      return ok(`${place}: ancora nessun file`)
    }
    return await backend.head(row.id)
      ? ok(place)
      : fault(`${place}: è di un altro database, o non è montato`)
  } catch (err) {
    return fault(`${place}: lettura: ${failure(errorCode(err), 'controllare indirizzo e credenziali')}`)
  }
}

/** Checks that the mail server accepts the login. It sends no mail. */
export async function mail ({ config: { SMTP_URL: url } }: Installation): Found {
  if (url === undefined) return warning('SMTP_URL non è impostata: non partono né e-mail né allarmi')
  try {
    await checkSmtp(url)
    return ok('il server di posta accetta il collegamento')
  } catch (err) {
    return fault(`SMTP_URL: ${failure(classifySmtpError(err).code, 'controllare indirizzo, porta, utente e password')}`)
  }
}

/** Checks that Redis responds. */
export async function redis ({ config: { REDIS_URL: url } }: Installation): Found {
  if (url === undefined) return undefined
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    lazyConnect: true, connectTimeout: 5000, commandTimeout: 5000, retryStrategy: () => null
  })
  // The rejection of `connect` does not contain the cause.
  let reason: unknown
  client.on('error', (err) => { reason = err })
  try {
    await client.connect()
    await client.ping()
    return ok('risponde')
  } catch (err) {
    const why = failure(errorCode(reason ?? err), 'controllare indirizzo, utente e password')
    return fault(`REDIS_URL: ${why}; intanto le richieste non si contano`)
  } finally {
    client.disconnect()
  }
}

/** Checks that the provider of `IDP_URL` returns the public keys that verify its tokens. */
export async function provider (config: Config): Found {
  if (config.IDP_URL === undefined) return undefined
  try {
    return ok(`${await checkProvider(config)} dà le sue chiavi`)
  } catch (err) {
    if (err instanceof ConfigError) return fault(err.message)
    return fault('il provider di IDP_URL non dà le sue chiavi (/auth/v1/.well-known/jwks.json), nessuno può ' +
      `accedere: ${failure(errorCode(err), 'controllare indirizzo e rete')}`)
  }
}

const silent = pino({ level: 'silent' }) as FastifyBaseLogger

/** Checks that the police service accepts the credentials of every account. It sends no schedina. */
export async function police ({ config, keys, db }: Installation): Found {
  if (config.ALLOGGIATI_MODE === 'sandbox') {
    return warning('sandbox: nulla arriva alla Polizia; per inviare davvero ALLOGGIATI_MODE=production, con ' +
      'ALLOGGIATI_UTENTE, ALLOGGIATI_PASSWORD e ALLOGGIATI_WSKEY')
  }
  const { accounts, host } = await checkAccounts({ config, keys, db, log: silent })
  const failed = accounts.find(({ error }) => error !== null)
  if (failed) {
    const { error, establishment } = failed
    const isAway = error instanceof Error && 'code' in error && error.code === 'SERVIZIO_NON_RAGGIUNGIBILE'
    const address = config.ALLOGGIATI_ENDPOINT === undefined ? 'la rete' : 'la rete e ALLOGGIATI_ENDPOINT'
    const credentials = establishment === null
      ? 'ALLOGGIATI_UTENTE, PASSWORD e WSKEY'
      : `l’account della struttura ${establishment} (PUT /api/v1/strutture/${establishment}/polizia)`
    // The message comes from the error catalogue of this project, so it contains no request data.
    return fault(`${error instanceof Error ? error.message : 'errore'}: controllare ${isAway ? address : credentials}`)
  }
  return await currentSuspension(db)
    ? warning('credenziali accettate, ma gli invii sono sospesi: vedere GET /api/v1/invii/sospensione')
    : ok(`credenziali accettate da ${host}`)
}
