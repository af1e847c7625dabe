import type { FastifyInstance, FastifyReply, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { FeatureFlag, MaintenanceState } from '#schemas/setting.ts'
import type { NotificationListener } from '#src/database/notifications.ts'
import { Manutenzione } from './errors.ts'
import { readFeatures } from './features.ts'
import { cachedValue } from './cached-value.ts'
import { readMaintenance } from './maintenance.ts'

/** Seconds after which a client may retry. */
const RETRY_AFTER = '60'
const WITHOUT_MESSAGE = 'riprovare più tardi'

/**
 * During maintenance, refuses every request of a non-administrator. Public routes (also health checks), sign-in, and
 * the administrators' pages with their own guard are exempt. It runs after the rate limit and before the guards, and
 * reads the cached settings.
 */
function addMaintenanceGate (app: FastifyInstance, current: () => MaintenanceState | Promise<MaintenanceState>) {
  app.addHook('onRoute', function gate (route) {
    const access = route.config?.access ?? this.defaultAccess
    if (access === 'public' || access === 'cookie' || route.config?.signIn === true) return
    route.onRequest = [route.onRequest ?? [], refuseDuringMaintenance].flat()
  })

  const refuseDuringMaintenance: onRequestHookHandler = function refuseDuringMaintenance (request, reply, done) {
    // The server's own key is not an administrator. On routes for administrators the guard checks the right again.
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
      /** The current settings, or the last known ones without a database. A promise only if they must be read again. */
      current (): Settings | Promise<Settings>
      /** Await it after a change and before the response. Then the change is effective in every process. */
      inForce (): Promise<void>
    }
  }
}

/** A notification can be lost together with its connection, so settings are read again after this time. */
const REREAD_MS = 10_000
/** A process that takes longer to receive a notification does not respond to requests either. */
const LISTENERS_WAIT_MS = 5000

/** Flags and maintenance, cached in memory, and the check that refuses requests during maintenance. */
export default fp(async function settings (app) {
  const { db, log } = app
  const settings = cachedValue(readSettings, () => listener, log)
  const listener: NotificationListener = app.notifications.subscribe({ settings: settings.change }, settings.forget)

  app.decorate('settings', {
    current: settings.current,
    inForce: () => listener.waitForListeners(LISTENERS_WAIT_MS)
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
}, { name: 'settings', dependencies: ['notifications', 'auth', 'rate-limits'] })
