import type { FastifyInstance, FastifyReply, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { FeatureFlag, MaintenanceState } from '#schemas/setting.ts'
import type { ChangeListener } from '#src/database/changes.ts'
import { Manutenzione } from './errors.ts'
import { readFeatures } from './features.ts'
import { kept } from './kept.ts'
import { readMaintenance } from './maintenance.ts'

/** Seconds after which a client may ask again. */
const RETRY_AFTER = '60'
const WITHOUT_MESSAGE = 'riprovare più tardi'

/**
 * Refuses every request of a non-administrator while the service is under maintenance. Not those of public routes,
 * health among them, of sign-in, and of the administrators' pages, which have a guard of their own. It is put on after
 * the rate limit and before the guards; while there is no maintenance it only looks at what is in memory.
 */
function addMaintenanceGate (app: FastifyInstance, current: () => MaintenanceState | Promise<MaintenanceState>) {
  app.addHook('onRoute', function gate (route) {
    const access = route.config?.access ?? this.defaultAccess
    if (access === 'public' || access === 'cookie' || route.config?.signIn === true) return
    route.onRequest = [route.onRequest ?? [], refuseDuringMaintenance].flat()
  })

  const refuseDuringMaintenance: onRequestHookHandler = function refuseDuringMaintenance (request, reply, done) {
    // The server's own key is no administrator; the guard of an administrators' route asks again.
    if (request.principal?.admin) return done()
    const state = current()
    if (!(state instanceof Promise)) return done(refusal(state, reply))
    state.then((state) => done(refusal(state, reply)), done)
  }
}

function refusal ({ enabled, message }: MaintenanceState, reply: FastifyReply): Error | undefined {
  if (!enabled) return undefined
  reply.header('retry-after', RETRY_AFTER)
  return new Manutenzione(message ?? WITHOUT_MESSAGE)
}

/** The settings that administrators change while the server runs. */
export interface Settings {
  /** In the order of their keys. */
  features: readonly FeatureFlag[]
  maintenance: MaintenanceState
}

declare module 'fastify' {
  interface FastifyInstance {
    settings: {
      /** At once, except after a change. While the database does not answer, the last known ones, if not changed. */
      current (): Settings | Promise<Settings>
      /** To be awaited after a change, before it is answered: from then on it is in force in every process. */
      inForce (): Promise<void>
    }
  }
}

/** A notification can be lost with its connection: no process goes by settings that are older than this. */
const REREAD_MS = 10_000
/** A process that takes longer to hear of a change does not answer requests, either. */
const LISTENERS_WAIT_MS = 5000

/** Flags and maintenance, kept in memory, and the gate that a maintenance closes. */
export default fp(async function settings (app) {
  const { db, log } = app
  const settings = kept(readSettings, () => changes, log)
  const changes: ChangeListener = app.changes.subscribe({ settings: settings.change }, settings.forget)

  app.decorate('settings', {
    current: settings.current,
    inForce: () => changes.waitForListeners(LISTENERS_WAIT_MS)
  })

  addMaintenanceGate(app, () => {
    const found = settings.current()
    return found instanceof Promise ? found.then(({ maintenance }) => maintenance) : found.maintenance
  })

  let timer: NodeJS.Timeout | undefined
  app.addHook('onReady', async () => {
    await settings.refresh()
    timer = setInterval(() => { void settings.refresh() }, REREAD_MS).unref()
  })
  app.addHook('onClose', async () => clearInterval(timer))

  async function readSettings (): Promise<Settings> {
    const [features, maintenance] = await Promise.all([readFeatures(db), readMaintenance(db)])
    return { features, maintenance }
  }
}, { name: 'settings', dependencies: ['changes', 'auth', 'limits'] })
