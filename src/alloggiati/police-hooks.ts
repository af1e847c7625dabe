import fp from 'fastify-plugin'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

/**
 * Called as the first statement of the transaction that makes a submission ready: a new one, or one that a person
 * decides to send again. What it throws is answered to the caller, and nothing is sent. Submissions that are under way
 * already do not ask.
 */
export type BeforeReady = (tx: Transaction) => Promise<void>

interface SubmissionHooks { beforeReady: BeforeReady }

/** What the rules of the police say of the saved guests of a booking, each with the guest's place. */
interface BookingRemarks { errors: Segnalazione[], warnings: Segnalazione[] }

type RemarksSource = (db: Executor, booking: number) => Promise<BookingRemarks>

declare module 'fastify' {
  interface FastifyInstance {
    /** For the police area alone, which judges. */
    provideBookingRemarks (source: RemarksSource): void
    /**
     * Judges the saved guests of a booking as `valida` would.
     * @throws PrenotazioneNonTrovata
     */
    bookingRemarks: RemarksSource
    /** Has a function called at a step of every submission: the police area need not know who has a say in it. */
    addSubmissionHook<Name extends keyof SubmissionHooks> (name: Name, hook: SubmissionHooks[Name]): void
    /** The registered hooks, in the order in which they were added: for the police area alone. */
    submissionHooks: { readonly [Name in keyof SubmissionHooks]: readonly SubmissionHooks[Name][] }
  }
}

/** The hooks of submissions to the police. Registered before the areas. */
export const submissionHooks = fp(async function registerSubmissionHooks (app) {
  const hooks: { [Name in keyof SubmissionHooks]: SubmissionHooks[Name][] } = { beforeReady: [] }
  app.decorate('submissionHooks', hooks)
  app.decorate('addSubmissionHook', (name, hook) => { hooks[name].push(hook) })
}, { name: 'submission-hooks', dependencies: ['database'] })

/** What areas that save guests may ask of the police area. Registered before the areas. */
export const bookingRemarks = fp(async function registerBookingRemarks (app) {
  let current: RemarksSource = async () => ({ errors: [], warnings: [] })
  app.decorate('provideBookingRemarks', (source) => { current = source })
  app.decorate('bookingRemarks', (db, booking) => current(db, booking))
}, { name: 'booking-remarks' })
