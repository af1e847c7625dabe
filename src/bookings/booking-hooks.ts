import fp from 'fastify-plugin'
import type { Transaction } from '#src/database/connect.ts'

/**
 * Called in the transaction that deletes bookings, before they are deleted; the bookings are locked. What it throws
 * is answered to the caller, and nothing is deleted.
 * @param ids the bookings that exist, ascending
 */
export type BeforeDelete = (tx: Transaction, ids: readonly number[]) => Promise<void>

/**
 * Called in the transaction that shortens the guest list of a booking, or makes it one for fewer guests; it is locked.
 * What it throws is answered to the caller, and nothing is saved.
 * @param removed the places that are gone, 0-based
 */
export type GuestsRemoved = (tx: Transaction, booking: number, removed: readonly number[]) => Promise<void>

export interface BookingHooks { beforeDelete: BeforeDelete, guestsRemoved: GuestsRemoved }

/** The registered hooks, in the order in which they were added. */
export type BookingHooksList = { readonly [Name in keyof BookingHooks]: readonly BookingHooks[Name][] }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Has a function called when bookings change in the way that the hook names: bookings need not know the areas that
     * depend on them.
     */
    addBookingHook<Name extends keyof BookingHooks> (name: Name, hook: BookingHooks[Name]): void
    /** For the bookings area alone. */
    bookingHooks: BookingHooksList
  }
}

/** The hooks of bookings, for areas that keep something of a booking. Registered before the areas. */
export default fp(async function bookingHooks (app) {
  const hooks: { [Name in keyof BookingHooks]: BookingHooks[Name][] } = { beforeDelete: [], guestsRemoved: [] }
  app.decorate('bookingHooks', hooks)
  app.decorate('addBookingHook', (name, hook) => { (hooks[name] as typeof hook[]).push(hook) })
}, { name: 'booking-hooks', dependencies: ['database'] })
