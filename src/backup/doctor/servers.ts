import type { FastifyBaseLogger } from 'fastify'
import pino from 'pino'
import { checkPolice, currentSuspension } from '#src/alloggiati/index.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import { type Config } from '#src/config/config.ts'
import { checkProvider } from '#src/identity/index.ts'
import { checkSmtp } from '#src/services/mail/transport.ts'
import { s3Settings } from '#src/services/files/backends/s3.ts'
import type { Installation } from '../installation.ts'
import { codeOf, fault, ok, warning, type Look } from './finding.ts'

/** Where files are kept. Nothing is written. */
export function files ({ config, sql, backend }: Installation): Look {
  return async () => {
    const place = s3Settings(config) ? `bucket S3 ${config.S3_BUCKET}` : 'cartella files di DATA_DIR'
    const [row] = await sql<{ id: string, adopted: boolean }[]>`
      select id, adopted_at is not null as adopted from file_store`
    try {
      if (!row?.adopted) {
        // Whether the bucket can be read at all.
        if (s3Settings(config)) await backend.list('00')[Symbol.asyncIterator]().next()
        return ok(`${place}: ancora nessun file`)
      }
      return await backend.head(row.id)
        ? ok(place)
        : fault(`${place}: non è il posto dei file di questo database, o non è montato`)
    } catch (err) {
      return fault(`${place}: non si può leggere (${codeOf(err)}): controllare indirizzo e credenziali`)
    }
  }
}

/** The mail server takes the login; no mail is sent. */
export function mail ({ config: { SMTP_URL: url } }: Installation): Look {
  return async () => {
    if (url === undefined) return warning('SMTP_URL non è impostata: non partono né e-mail né allarmi')
    try {
      await checkSmtp(url)
      return ok('il server di posta accetta il collegamento')
    } catch (err) {
      return fault(`il server di SMTP_URL non va (${codeOf(err)}): controllare indirizzo, porta, utente e password`)
    }
  }
}

/** Redis answers. */
export function redis ({ config: { REDIS_URL: url } }: Installation): Look {
  return async () => {
    if (url === undefined) return undefined
    const { Redis } = await import('ioredis')
    const client = new Redis(url, {
      lazyConnect: true, connectTimeout: 5000, commandTimeout: 5000, retryStrategy: () => null
    })
    // What the library throws in the end does not say why.
    let reason: unknown
    client.on('error', (err) => { reason = err })
    try {
      await client.connect()
      await client.ping()
      return ok('risponde')
    } catch (err) {
      return fault(`REDIS_URL non va (${refusalOf(reason ?? err)}): controllare indirizzo, utente e password; ` +
        'intanto le richieste non si contano')
    } finally {
      client.disconnect()
    }
  }
}

/** Of what Redis itself says the first word, as `WRONGPASS`. */
function refusalOf (err: unknown): string {
  const word = err instanceof Error && err.name === 'ReplyError' ? /^[A-Z]+\b/.exec(err.message) : null
  return word?.[0] ?? codeOf(err)
}

/** The provider of `IDP_URL` gives the keys by which its tokens are known. */
export function provider (config: Config): Look {
  return async () => {
    if (config.IDP_URL === undefined) return undefined
    try {
      return ok(`${await checkProvider(config)} dà le sue chiavi`)
    } catch (err) {
      if (err instanceof ConfigError) return fault(err.message)
      return fault('il provider di IDP_URL non dà le sue chiavi (/auth/v1/.well-known/jwks.json): nessuno può ' +
        'accedere; controllare indirizzo e rete')
    }
  }
}

const silent = pino({ level: 'silent' }) as FastifyBaseLogger

/** The police service takes the credentials; nothing is sent. */
export function police ({ config, keys, db }: Installation): Look {
  return async () => {
    if (config.ALLOGGIATI_MODE === 'sandbox') {
      return warning('sandbox: nulla arriva alla Polizia; per inviare davvero ALLOGGIATI_MODE=production, con ' +
        'ALLOGGIATI_UTENTE, ALLOGGIATI_PASSWORD e ALLOGGIATI_WSKEY')
    }
    try {
      const endpoint = await checkPolice({ config, keys, db, log: silent })
      const suspended = await currentSuspension(db)
      return suspended
        ? warning('credenziali accettate, ma gli invii sono sospesi: vedere GET /api/v1/invii/sospensione')
        : ok(`credenziali accettate da ${new URL(endpoint).host}`)
    } catch (err) {
      const isAway = err instanceof Error && 'code' in err && err.code === 'SERVIZIO_NON_RAGGIUNGIBILE'
      const address = config.ALLOGGIATI_ENDPOINT === undefined ? 'la rete' : 'la rete e ALLOGGIATI_ENDPOINT'
      const what = isAway ? address : 'ALLOGGIATI_UTENTE, PASSWORD e WSKEY'
      // Of this program's own catalogue, and without what was sent.
      return fault(`${err instanceof Error ? err.message : 'errore'}: controllare ${what}`)
    }
  }
}
