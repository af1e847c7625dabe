import fp from 'fastify-plugin'
import type { Day } from '#src/lib/time.ts'
import type { DocumentKind } from './document-kind.ts'

/** A place of birth as police codes. `label` is its readable name. Abroad, `comune` and `provincia` are `''`. */
export interface BirthPlace { stato: string, comune: string, provincia: string, label: string }

/** Looks up police codes in the current tables. Each function returns undefined without a match. */
export interface GuestCodes {
  /** The citizenship code of an ISO alpha-3 code. */
  citizenship (alpha3: string): string | undefined
  /** The place-of-issue code of an issuer. Undefined for Italy, where the place is a comune. */
  placeOfIssue (alpha3: string): string | undefined
  documentType (kind: DocumentKind): string | undefined
  /** The only comune with exactly this name that was in a province on the day of birth. */
  birthPlace (name: string, province: string, born: Day): BirthPlace | undefined
  /** The only state abroad with this name or ISO code, as a place of birth. */
  birthState (name: string): BirthPlace | undefined
  /** The only comune with this name on a day. The abbreviation of a province (`RM`) means its capital. */
  comune (name: string, day: Day): string | undefined
}

type Source = () => Promise<GuestCodes>

declare module 'fastify' {
  interface FastifyInstance {
    /** Registers the source of codes, because scanning cannot import the area that has the tables. */
    provideGuestCodes (source: Source): void
    /** Looks up the current codes. Without a registered source every lookup returns undefined. */
    guestCodes: Source
  }
}

const NONE: GuestCodes = {
  citizenship: () => undefined,
  placeOfIssue: () => undefined,
  documentType: () => undefined,
  birthPlace: () => undefined,
  birthState: () => undefined,
  comune: () => undefined
}

/** Decorates the app with the source of police codes. Registered before the areas. */
export default fp(async function guestCodes (app) {
  let current: Source = async () => NONE
  app.decorate('provideGuestCodes', (source) => { current = source })
  app.decorate('guestCodes', () => current())
}, { name: 'guest-codes' })
