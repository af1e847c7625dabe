import fp from 'fastify-plugin'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

/**
 * Runs first in the transaction that makes a submission ready, whether new or resent by decision. If it throws, the
 * caller gets the error, and nothing is sent. It does not run for submissions in progress.
 */
export type BeforeReady = (tx: Transaction) => Promise<void>

interface SubmissionHooks { beforeReady: BeforeReady }

/** Errors and warnings of the police rules for the saved guests of a booking, each with the guest's index. */
interface BookingRemarks { errors: Segnalazione[], warnings: Segnalazione[] }

type RemarksSource = (db: Executor, booking: number) => Promise<BookingRemarks>

declare module 'fastify' {
  interface FastifyInstance {
    /** Called only by the police area, which provides the rules. */
    provideBookingRemarks (source: RemarksSource): void
    /**
     * Validates the saved guests of a booking, like `valida`.
     * @throws PrenotazioneNonTrovata
     */
    bookingRemarks: RemarksSource
    /** Registers a function for a step of every submission, so the police area does not import the function's area. */
    addSubmissionHook<Name extends keyof SubmissionHooks> (name: Name, hook: SubmissionHooks[Name]): void
    /** The registered hooks in order; only for the police area. */
    submissionHooks: { readonly [Name in keyof SubmissionHooks]: readonly SubmissionHooks[Name][] }
  }
}

/** The submission hooks. Register before the areas. */
export const submissionHooks = fp(async function registerSubmissionHooks (app) {
  const hooks: { [Name in keyof SubmissionHooks]: SubmissionHooks[Name][] } = { beforeReady: [] }
  app.decorate('submissionHooks', hooks)
  app.decorate('addSubmissionHook', (name, hook) => { hooks[name].push(hook) })
}, { name: 'submission-hooks', dependencies: ['database'] })

/** Police rules for areas that save guests. Register before the areas. */
export const bookingRemarks = fp(async function registerBookingRemarks (app) {
  let current: RemarksSource = async () => ({ errors: [], warnings: [] })
  app.decorate('provideBookingRemarks', (source) => { current = source })
  app.decorate('bookingRemarks', (db, booking) => current(db, booking))
}, { name: 'booking-remarks' })
