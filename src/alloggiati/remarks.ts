import fp from 'fastify-plugin'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { Executor } from '#src/database/connect.ts'

/** What the rules of the police say of the saved guests of a booking, each with the guest's place. */
export interface BookingRemarks { errors: Segnalazione[], warnings: Segnalazione[] }

type Source = (db: Executor, booking: number) => Promise<BookingRemarks>

declare module 'fastify' {
  interface FastifyInstance {
    /** For the police area alone: it judges. */
    provideBookingRemarks (source: Source): void
    /**
     * Judges the saved guests of a booking as `valida` would.
     * @throws PrenotazioneNonTrovata
     */
    bookingRemarks: Source
  }
}

/** What areas that save guests may ask of the police area. Registered before the areas. */
export default fp(async function bookingRemarks (app) {
  let current: Source = async () => ({ errors: [], warnings: [] })
  app.decorate('provideBookingRemarks', (source) => { current = source })
  app.decorate('bookingRemarks', (db, booking) => current(db, booking))
}, { name: 'booking-remarks' })
