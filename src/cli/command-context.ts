import { isLoopbackHost } from '#src/lib/addresses.ts'
import { notSignedIn, usageError } from './errors.ts'
import { createOutput } from './output.ts'
import { exchange, refusal, type ApiResponse, type Request } from './server-call.ts'
import { readKey, type StoredKey } from './stored-key.ts'
import type { Terminal } from './terminal.ts'

export const DEFAULT_URL = 'http://127.0.0.1:3000'

export type Context = ReturnType<typeof createContext>

/** The functions that commands share. */
export function createContext (terminal: Terminal, options: { json?: boolean, url?: string }) {
  const out = createOutput(terminal, options.json === true)
  const { timeoutMs, env } = terminal
  let known: Promise<StoredKey | undefined> | undefined

  async function load (): Promise<StoredKey | undefined> {
    const found = await readKey(terminal)
    if (found?.exposed) out.warn('il file con la chiave è leggibile da altri utenti: chmod 600')
    return found && { ...found.stored, url: baseUrl(found.stored.url, 'L’indirizzo salvato') }
  }

  const stored = () => (known ??= load())

  return {
    terminal,
    out,
    stored,
    /** Base URL of the server: `--url`, else `LOCANDA_URL`, else the stored one, else this machine. */
    async base (): Promise<string> {
      if (options.url !== undefined) return baseUrl(options.url, '--url')
      if (env.LOCANDA_URL) return baseUrl(env.LOCANDA_URL, 'LOCANDA_URL')
      return (await stored())?.url ?? DEFAULT_URL
    },
    /** Sends a request to the given server with the given credentials. */
    async send (base: string, path: string, request: Request = {}): Promise<ApiResponse> {
      // With this setting Node would accept any certificate.
      if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0' && base.startsWith('https:')) {
        throw usageError(
          'NODE_TLS_REJECT_UNAUTHORIZED=0 spegne il controllo dei certificati: non è ammessa. ' +
            'Per un’autorità propria: NODE_EXTRA_CA_CERTS'
        )
      }
      return exchange(base, path, { timeoutMs, ...request })
    }
  }
}

/**
 * Normalizes a server's base URL, without a trailing slash.
 * @param source the setting that contains the text, for the error
 * @throws CliError when the URL is not http or https, or contains credentials, query or fragment
 */
export function baseUrl (text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${source}: deve essere un indirizzo http o https`)
  }
  // The text is not repeated, because it may contain a password.
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(`${source}: l’indirizzo non deve contenere credenziali, né parti dopo «?» o «#»`)
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** False for http to another machine, because the network between could read the traffic. */
export function isPrivate (base: string): boolean {
  const { protocol, hostname } = new URL(base)
  return protocol === 'https:' || isLoopbackHost(hostname)
}

/**
 * The stored key, if the server of this command issued it.
 * @throws CliError otherwise, because a key is sent only to the server that issued it
 */
export async function ownKey (context: Context): Promise<StoredKey> {
  const stored = await context.stored()
  const base = await context.base()
  if (stored === undefined) throw notSignedIn(`Nessun accesso a ${base}`)
  if (stored.url !== base) throw notSignedIn(`Nessun accesso a ${base} (la chiave salvata è per ${stored.url})`)
  if (!isPrivate(base)) context.out.warn(`la chiave e i dati viaggiano in chiaro verso ${base}: usare https`)
  return stored
}

/**
 * Sends a request with the stored key.
 * @returns any response except a 401
 * @throws CliError without a key for that server, and when the server rejects the key
 */
export async function call (context: Context, path: string, request: Request = {}): Promise<ApiResponse> {
  const { url, key } = await ownKey(context)
  const response = await context.send(url, path, { ...request, headers: { 'x-api-key': key } })
  if (response.status === 401) {
    throw notSignedIn('La chiave salvata non è valida, è scaduta o è stata revocata', refusal(response).risposta)
  }
  return response
}
