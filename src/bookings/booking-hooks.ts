import fp from 'fastify-plugin'
import type { Transaction } from '#src/database/connect.ts'

/**
 * Runs before bookings are deleted, in the same transaction. The bookings are locked. If the hook throws, the caller
 * gets the error, and no booking is deleted.
 * @param ids the bookings that exist, ascending
 */
export type BeforeDelete = (tx: Transaction, ids: readonly number[]) => Promise<void>

/**
 * Runs when a booking loses guests or lowers its number of guests, in the same transaction. The booking is locked. If
 * the hook throws, the caller gets the error, and no change is saved.
 * @param removed 0-based places that the booking lost, with or without a saved guest
 */
export type GuestsRemoved = (tx: Transaction, booking: number, removed: readonly number[]) => Promise<void>

interface BookingHooks { beforeDelete: BeforeDelete, guestsRemoved: GuestsRemoved }

/** The registered hooks, in the order in which they were added. */
type BookingHooksList = { readonly [Name in keyof BookingHooks]: readonly BookingHooks[Name][] }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Registers a function for a change of bookings. So the bookings area does not import the areas that depend on it.
     */
    addBookingHook<Name extends keyof BookingHooks> (name: Name, hook: BookingHooks[Name]): void
    /** Only code of the bookings area may use it. */
    bookingHooks: BookingHooksList
  }
}

/** Booking hooks, for areas that store data about bookings. Registered before the areas. */
export default fp(async function bookingHooks (app) {
  const hooks: { [Name in keyof BookingHooks]: BookingHooks[Name][] } = { beforeDelete: [], guestsRemoved: [] }
  app.decorate('bookingHooks', hooks)
  app.decorate('addBookingHook', (name, hook) => { (hooks[name] as typeof hook[]).push(hook) })
}, { name: 'booking-hooks', dependencies: ['database'] })
