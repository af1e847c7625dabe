import fp from 'fastify-plugin'
import type { Day } from '#src/lib/time.ts'
import type { DocumentKind } from './document-kind.ts'

/** An Italian place of birth, by its codes; `label` is how people call it. */
export interface BirthPlace { stato: string, comune: string, provincia: string, label: string }

/** The codes by which guests are registered, of the tables in force; undefined is what the tables do not have. */
export interface GuestCodes {
  /** Of a citizenship, by the code of the zone in three letters. */
  citizenship (alpha3: string): string | undefined
  /** Of the place of issue, by the issuer's code in three letters; for Italy it is a comune, which no zone says. */
  placeOfIssue (alpha3: string): string | undefined
  documentType (kind: DocumentKind): string | undefined
  /** Of the comune with just this name in a province, if there was one alone on the day of a birth. */
  birthPlace (name: string, province: string, born: Day): BirthPlace | undefined
}

type Source = () => Promise<GuestCodes>

declare module 'fastify' {
  interface FastifyInstance {
    /** Says where the codes come from: scanning need not know the area that registers guests. */
    provideGuestCodes (source: Source): void
    /** The codes in force; without a source there are none. For scanning alone. */
    guestCodes: Source
  }
}

const NONE: GuestCodes = {
  citizenship: () => undefined,
  placeOfIssue: () => undefined,
  documentType: () => undefined,
  birthPlace: () => undefined
}

/** Where scanning gets the codes of guests. Registered before the areas. */
export default fp(async function guestCodes (app) {
  let current: Source = async () => NONE
  app.decorate('provideGuestCodes', (source) => { current = source })
  app.decorate('guestCodes', () => current())
}, { name: 'guest-codes' })
