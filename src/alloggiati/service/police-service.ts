import type { FastifyBaseLogger } from 'fastify'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database } from '#src/database/connect.ts'
import type { Clock } from '#src/lib/time.ts'
import { startSandbox } from './sandbox/sandbox.ts'
import { soapClient, type SoapClient } from './soap/soap-client.ts'
import { tokenSource, type Credentials, type TokenSource } from './soap/token.ts'

/** The police service as configured in this installation. */
export interface PoliceService {
  mode: Config['ALLOGGIATI_MODE']
  endpoint: string
  /** The account's name, sent with every call. */
  utente: string
  /** The account name in ledger and receipts. In the sandbox it differs from the real one, even for the same user. */
  account: string
  client: SoapClient
  token: TokenSource
  /** Maximum milliseconds until a caller gets a response, even if the service does not respond. */
  respondWithinMs: number
  /** A signal for a new request: it aborts when the response is due. */
  responseDeadline (): AbortSignal
}

/** Clients, and proxies in front of this server, time out after 30 seconds or more. */
const RESPOND_WITHIN_MS = 25_000

interface Options {
  config: Config
  keys: Keys
  clock: Clock
  db: Database
  log: FastifyBaseLogger
  /** Timeout of a whole call. By default the timeout of the SOAP client. */
  timeoutMs?: number
  /** Maximum time until a response, 25 seconds by default. */
  respondWithinMs?: number
}

/** The service for each account, at one endpoint. */
export interface PoliceServices {
  /**
   * With the environment's credentials (`isGiven`), else with the sandbox's. Null in production without credentials.
   */
  own: { service: PoliceService, isGiven: boolean } | null
  of (credentials: Credentials): PoliceService
  /** Stops the sandbox. */
  close (): Promise<void>
}

/** Sets up the services without a call to them. In sandbox mode, starts a sandbox on loopback. */
export async function policeServices (
  { config, keys, clock, db, log, timeoutMs, respondWithinMs = RESPOND_WITHIN_MS }: Options
): Promise<PoliceServices> {
  const { ALLOGGIATI_MODE: mode, ALLOGGIATI_ENDPOINT, ALLOGGIATI_CA: ca } = config
  const given = credentialsOf(config)
  const credentials = given ?? (mode === 'sandbox' ? sandboxCredentials(keys) : undefined)
  const sandbox = mode === 'sandbox' ? await startSandbox({ db, clock, log, credentials: credentials! }) : undefined
  const endpoint = sandbox?.endpoint ?? ALLOGGIATI_ENDPOINT ?? await wsdlAddress()

  function of (credentials: Credentials): PoliceService {
    const client = soapClient({ endpoint, timeoutMs, ca, secrets: Object.values(credentials) })
    const { utente } = credentials
    return {
      mode,
      endpoint,
      utente,
      account: accountName(mode, utente),
      client,
      token: tokenSource(client, credentials, clock),
      respondWithinMs,
      responseDeadline: () => AbortSignal.timeout(respondWithinMs)
    }
  }

  const own = credentials === undefined ? null : { service: of(credentials), isGiven: given !== undefined }
  return { own, of, close: sandbox?.close ?? (async () => {}) }
}

/** The name of an account in ledger and receipts. */
export function accountName (mode: PoliceService['mode'], utente: string): string {
  return mode === 'sandbox' ? `sandbox:${utente}` : utente
}

/**
 * Sets up the service with the environment's credentials only.
 * @returns the service, or null in production without credentials; `close` stops the sandbox
 */
export async function policeService (options: Options): Promise<{
  service: PoliceService | null, close (): Promise<void>
}> {
  const { own, close } = await policeServices(options)
  return { service: own?.service ?? null, close }
}

function credentialsOf ({
  ALLOGGIATI_UTENTE: utente, ALLOGGIATI_PASSWORD: password, ALLOGGIATI_WSKEY: wskey
}: Config): Credentials | undefined {
  return utente === undefined || password === undefined || wskey === undefined ? undefined : { utente, password, wskey }
}

function sandboxCredentials (keys: Keys): Credentials {
  const secret = (label: string) => createHash('sha256').update(keys.derive(`sandbox/${label}`)).digest('base64url')
  return { utente: 'XX000001', password: secret('password'), wskey: secret('wskey') }
}

/** The URL of the real service, which only its WSDL contains. Read in production without `ALLOGGIATI_ENDPOINT`. */
async function wsdlAddress (): Promise<string> {
  const wsdl = await readFile(new URL('./soap/service.wsdl', import.meta.url), 'utf8')
  return /<soap12:address location="([^"]+)"/.exec(wsdl)![1]!
}
