import fp from 'fastify-plugin'
import type { Transaction } from '#src/plugins/database/connect.ts'

/**
 * Called in the transaction that deletes bookings, before they are deleted; the bookings are locked. What it throws
 * is answered to the caller, and nothing is deleted.
 * @param ids the bookings that exist, ascending
 */
export type BeforeDelete = (tx: Transaction, ids: readonly number[]) => Promise<void>

export interface BookingHooks { beforeDelete: BeforeDelete }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Has a function called when bookings change in the way that the hook names: bookings need not know the areas that
     * depend on them.
     */
    addBookingHook<Name extends keyof BookingHooks> (name: Name, hook: BookingHooks[Name]): void
    /** The registered hooks, in the order in which they were added: for the bookings area alone. */
    bookingHooks: { readonly [Name in keyof BookingHooks]: readonly BookingHooks[Name][] }
  }
}

/** The hooks of bookings, for areas that keep something of a booking. Registered before the areas. */
export default fp(async function bookingHooks (app) {
  const hooks: { [Name in keyof BookingHooks]: BookingHooks[Name][] } = { beforeDelete: [] }
  app.decorate('bookingHooks', hooks)
  app.decorate('addBookingHook', (name, hook) => { hooks[name].push(hook) })
}, { name: 'booking-hooks', dependencies: ['database'] })
