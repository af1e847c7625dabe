import fp from 'fastify-plugin'
import type { DayState } from '#schemas/giornata.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { DayStay } from '#src/bookings/index.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { Day } from '#src/lib/time.ts'

/**
 * Runs first in the transaction that makes a new submission ready, or resends one by decision. If it throws, the caller
 * gets the error, and nothing is sent. It does not run for submissions in progress.
 */
export type BeforeReady = (tx: Transaction) => Promise<void>

interface SubmissionHooks { beforeReady: BeforeReady }

/** Errors and warnings of the police rules for the saved guests of a booking, each with the guest's index. */
interface BookingRemarks { errors: Segnalazione[], warnings: Segnalazione[] }

/** The registration of a stay with the police, as of a day. */
export interface Registration {
  stato: DayState
  /** Number of saved guests without an error of the rules. */
  complete: number
  /** Number of guests who must be declared on the day, and how many of them are not sent. */
  due: number
  unsent: number
  errors: readonly Segnalazione[]
}

/** Booking id to registration. Contains only confirmed bookings. */
export type Registrations = ReadonlyMap<number, Registration>

/** Reads the registrations of the stays of a day. */
type RegistrationsSource = (day: Day, stays: readonly DayStay[]) => Promise<Registrations>

type RemarksSource = (db: Executor, booking: number) => Promise<BookingRemarks>

declare module 'fastify' {
  interface FastifyInstance {
    /** Sets the source of `bookingRemarks`. Only for the police area, which has the rules. */
    provideBookingRemarks (source: RemarksSource): void
    /**
     * Validates the saved guests of a booking, like `valida`.
     * @throws PrenotazioneNonTrovata
     */
    bookingRemarks: RemarksSource
    /** Sets the source of `registrations`. Only for the police area, which has the ledger. */
    provideRegistrations (source: RegistrationsSource): void
    /** The registrations of the stays of a day with the police, as the day overview counts them. */
    registrations: RegistrationsSource
    /** Registers a function for a step of every submission, so the police area does not import the function's area. */
    addSubmissionHook<Name extends keyof SubmissionHooks> (name: Name, hook: SubmissionHooks[Name]): void
    /** The registered hooks in order. Only for the police area. */
    submissionHooks: { readonly [Name in keyof SubmissionHooks]: readonly SubmissionHooks[Name][] }
  }
}

/** The submission hooks. Register before the areas. */
export const submissionHooks = fp(async function registerSubmissionHooks (app) {
  const hooks: { [Name in keyof SubmissionHooks]: SubmissionHooks[Name][] } = { beforeReady: [] }
  app.decorate('submissionHooks', hooks)
  app.decorate('addSubmissionHook', (name, hook) => { hooks[name].push(hook) })
}, { name: 'submission-hooks', dependencies: ['database'] })

/** Police rules and registrations for other areas. Register before the areas. */
export const bookingRemarks = fp(async function registerBookingRemarks (app) {
  let current: RemarksSource = async () => ({ errors: [], warnings: [] })
  app.decorate('provideBookingRemarks', (source) => { current = source })
  app.decorate('bookingRemarks', (db, booking) => current(db, booking))
  let registrations: RegistrationsSource = async () => new Map()
  app.decorate('provideRegistrations', (source) => { registrations = source })
  app.decorate('registrations', (day, stays) => registrations(day, stays))
}, { name: 'booking-remarks' })
