import type { MaintenanceChange, MaintenanceState } from '#schemas/setting.ts'
import { call, type Context } from '../command-context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { callLocalServer } from '../local-server.ts'
import { expectBody, type ApiResponse } from '../server-call.ts'
import { card, moment } from '../output.ts'

const PATH = '/api/settings/maintenance'

interface BeginOptions { messaggio?: string, consenti?: MaintenanceChange['allow'] }

/** Shows whether the service is under maintenance. */
export async function showMaintenance (context: Context): Promise<Exit> {
  return show(context, await call(context, PATH))
}

/** Begins maintenance. If it is on already, changes its message and exceptions. */
export async function beginMaintenance (context: Context, { messaggio, consenti }: BeginOptions): Promise<Exit> {
  const body: MaintenanceChange = { enabled: true, message: messaggio, allow: consenti }
  return show(context, await call(context, PATH, { method: 'POST', body }))
}

/** Ends maintenance with the stored key or, on the server's machine, with the key of its environment. */
export async function endMaintenance (context: Context, { server }: { server?: boolean }): Promise<Exit> {
  const body: MaintenanceChange = { enabled: false }
  return show(context, await (server ? callLocalServer : call)(context, PATH, { method: 'POST', body }))
}

function show ({ out }: Context, response: ApiResponse): Exit {
  const state = expectBody<MaintenanceState>(response, 'enabled', 'message', 'since', 'allow')
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
