import type { Config } from '#src/config/config.ts'
import { refusal } from './answers.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './errors.ts'
import type { Answer, Request } from './exchange.ts'
import { serverEnvironment } from './server-environment.ts'

/**
 * Asks the server whose environment this is, at the address on which it listens, with a key of its own
 * that is good for this call.
 * @returns any answer but those of a server that does not know the key
 * @throws CliError without such a server
 */
export async function callOwnServer (context: Context, path: string, request: Request): Promise<Answer> {
  const { config, momentaryKey } = await serverEnvironment(context.terminal.env)
  const key = config.IDP_URL === undefined ? momentaryKey : config.IDP_SERVICE_KEY
  if (key === undefined) {
    throw new CliError(EXIT.failed, 'CONFIGURAZIONE', 'IDP_SERVICE_KEY: con un provider esterno è necessaria')
  }
  const base = listeningAddress(config)
  const answer = await context
    .send(base, path, { ...request, headers: { authorization: `Bearer ${key}` } })
    .catch((err: unknown) => { throw err instanceof CliError ? notRunning(err, base) : err })
  // A server of another environment does not know the key. During a maintenance it then answers 503 MANUTENZIONE.
  if ([401, 403].includes(answer.status) || refusal(answer).codice === 'MANUTENZIONE') {
    throw new CliError(
      EXIT.credentials,
      'AMBIENTE_DIVERSO',
      `Il server a ${base} non accetta la chiave di questo ambiente: MASTER_KEY (o DATA_DIR) e PUBLIC_URL devono ` +
        'essere quelle con cui è stato avviato',
      refusal(answer).risposta
    )
  }
  return answer
}

function notRunning ({ exit, codice, message }: CliError, base: string): CliError {
  return exit === EXIT.unreachable
    ? new CliError(
      exit,
      codice,
      `Nessun server risponde a ${base}, l'indirizzo dell'ambiente (HOST, PORT): se il server ne ha un altro, ` +
        "ripetere il comando con l'ambiente del server; se è fermo, avviarlo: una manutenzione non lo impedisce"
    )
    : new CliError(exit, codice, message)
}

/** A server that listens on every address of the machine listens on loopback, too. */
function listeningAddress ({ HOST, PORT }: Config): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`
}
