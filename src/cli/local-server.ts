import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Environment } from '#schemas/config.ts'
import type { Config } from '#src/config/config.ts'
import type { Context } from './command-context.ts'
import { CliError, configError, EXIT } from './errors.ts'
import { refusal, type ApiResponse, type Request } from './server-call.ts'
import type { Terminal } from './terminal.ts'

/** The server of this environment. */
interface ServerEnvironment {
  config: Config
  /** The service key with all rights, which the server derives from its secrets. An external provider rejects it. */
  ownServiceKey: string
  /** A service key that is valid for one minute, for a call to the server. */
  momentaryKey: string
}

/** @throws CliError when no server has been set up here, or when its settings are invalid */
export async function serverEnvironment (env: Terminal['env']): Promise<ServerEnvironment> {
  const dataDir = env.DATA_DIR || Environment.properties.DATA_DIR.default
  // Stop here, because reading the configuration would create a key for a server that does not exist.
  if (!env.MASTER_KEY && !existsSync(join(dataDir, 'master.key'))) {
    const text = `Nessun server ha i suoi dati in ${dataDir}: servono DATA_DIR e MASTER_KEY del server`
    throw new CliError(EXIT.failed, 'SERVER_NON_TROVATO', text)
  }
  const [{ ConfigError, readConfig }, { createKeys }, { momentaryServiceKey, serviceKey }] = await Promise.all([
    import('#src/config/config.ts'), import('#src/lib/secrets.ts'), import('#src/identity/index.ts')
  ])
  try {
    const config = readConfig(env)
    const keys = createKeys(config.MASTER_KEY)
    return { config, ownServiceKey: serviceKey(config, keys), momentaryKey: momentaryServiceKey(config, keys) }
  } catch (err) {
    throw err instanceof ConfigError ? configError(err.message) : err
  }
}

/**
 * Calls the server of this environment at its listening address. It sends a key that is valid for one minute, or with
 * an external identity provider `IDP_SERVICE_KEY`.
 * @returns any response, unless the server rejects the key
 * @throws CliError when no server has been set up here, when it does not respond, and when it rejects the key
 */
export async function callLocalServer (context: Context, path: string, request: Request = {}): Promise<ApiResponse> {
  const { config, momentaryKey } = await serverEnvironment(context.terminal.env)
  const key = config.IDP_URL === undefined ? momentaryKey : config.IDP_SERVICE_KEY
  if (key === undefined) throw configError('IDP_SERVICE_KEY: con un provider esterno è necessaria')
  const base = listeningAddress(config)
  const response = await context.send(base, path, { ...request, headers: { authorization: `Bearer ${key}` } })
  // A server of another environment rejects the key with 401 or 403, or during maintenance with 503 MANUTENZIONE.
  if ([401, 403].includes(response.status) || refusal(response).codice === 'MANUTENZIONE') {
    throw new CliError(
      EXIT.credentials,
      'AMBIENTE_DIVERSO',
      `Il server a ${base} non accetta la chiave di questo ambiente: MASTER_KEY (o DATA_DIR) e PUBLIC_URL devono ` +
        'essere quelle con cui è stato avviato',
      refusal(response).risposta
    )
  }
  return response
}

/** A server that listens on all addresses of the machine also listens on loopback. */
function listeningAddress ({ HOST, PORT }: Config): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`
}
