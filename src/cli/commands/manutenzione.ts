import type { MaintenanceChange, MaintenanceState } from '#schemas/setting.ts'
import type { Config } from '#src/config/config.ts'
import { expectBody, refusal } from '../answers.ts'
import { call, type Context } from '../context.ts'
import { CliError, EXIT, type Exit } from '../errors.ts'
import type { Answer } from '../exchange.ts'
import { moment } from '../instants.ts'
import { serverEnvironment } from '../server-environment.ts'
import { card } from '../table.ts'

const PATH = '/api/settings/maintenance'

export interface BeginOptions { messaggio?: string, consenti?: MaintenanceChange['allow'] }

/** Says whether the service is under maintenance. */
export async function showMaintenance (context: Context): Promise<Exit> {
  return show(context, await call(context, PATH))
}

/** Begins a maintenance, or changes what the present one says and allows. */
export async function beginMaintenance (context: Context, { messaggio, consenti }: BeginOptions): Promise<Exit> {
  const body: MaintenanceChange = { enabled: true, message: messaggio, allow: consenti }
  return show(context, await call(context, PATH, { method: 'POST', body }))
}

/** Ends the maintenance, with the stored key or, on the server's machine, with the key of its environment. */
export async function endMaintenance (context: Context, { server }: { server?: boolean }): Promise<Exit> {
  const body: MaintenanceChange = { enabled: false }
  return show(context, await (server ? callOwnServer(context, body) : call(context, PATH, { method: 'POST', body })))
}

function show ({ out }: Context, answer: Answer): Exit {
  if (answer.status === 503 && refusal(answer).codice === 'MANUTENZIONE') {
    throw new CliError(
      EXIT.failed,
      'MANUTENZIONE',
      'Il servizio è in manutenzione e la chiave usata non è di un amministratore: eseguire «locanda login» come ' +
        'amministratore, oppure «locanda manutenzione off --server» sulla macchina del server',
      refusal(answer).risposta
    )
  }
  const state = expectBody<MaintenanceState>(answer, 'enabled', 'message', 'since', 'allow')
  const { enabled, since, message, allow } = state
  out.result(
    enabled
      ? card([
        ['in manutenzione', `dal ${moment(since ?? '')}`],
        ['messaggio', message],
        ['consentiti', allow.length > 0 ? allow.join(', ') : null]
      ])
      : 'Il servizio non è in manutenzione.',
    state
  )
  return EXIT.ok
}

/** Asks the server whose environment this is, at the address on which it listens. */
async function callOwnServer (context: Context, body: MaintenanceChange): Promise<Answer> {
  const { config, ownServiceKey } = await serverEnvironment(context.terminal.env)
  const key = config.IDP_URL === undefined ? ownServiceKey : config.IDP_SERVICE_KEY
  if (key === undefined) {
    throw new CliError(EXIT.failed, 'CONFIGURAZIONE', 'IDP_SERVICE_KEY: con un provider esterno è necessaria')
  }
  const base = listeningAddress(config)
  const answer = await context
    .send(base, PATH, { method: 'POST', body, headers: { authorization: `Bearer ${key}` } })
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
        "ripetere il comando con l'ambiente del server; se è fermo, avviarlo: la manutenzione non lo impedisce"
    )
    : new CliError(exit, codice, message)
}

/** A server that listens on every address of the machine listens on loopback, too. */
function listeningAddress ({ HOST, PORT }: Config): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`
}
