import type { FastifyInstance, FastifyReply, onRequestHookHandler } from 'fastify'
import type { MaintenanceState } from '#schemas/setting.ts'
import { Manutenzione } from './errors.ts'

/** Seconds after which a client may ask again. */
const RETRY_AFTER = '60'
const WITHOUT_MESSAGE = 'riprovare più tardi'

/**
 * Refuses every request of a non-administrator while the service is under maintenance. Not those of public routes,
 * health among them, of sign-in, and of the administrators' pages, which have a guard of their own. It is put on after
 * the rate limit and before the guards; while there is no maintenance it only looks at what is in memory.
 */
export function addMaintenanceGate (app: FastifyInstance, current: () => MaintenanceState | Promise<MaintenanceState>) {
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
