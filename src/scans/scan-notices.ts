import type { ScanData } from '#schemas/scan.ts'
import type { Avviso } from '#schemas/scanning.ts'
import { savedGuests, type GuestPlace } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { expired, minor } from '#src/scanning/index.ts'

/** Notices about a scan: about its holder, the document, and the guests of the same stay. */
export async function scanNotices (
  db: Executor, data: ScanData, place: GuestPlace | null, today: Day
): Promise<Avviso[]> {
  return [
    ...minor(data.birthDate, today),
    ...(data.expiryDate === '' ? [] : expired(data.expiryDate, today)),
    ...(place === null ? [] : await sameDocument(db, data.docNum, place))
  ]
}

async function sameDocument (
  db: Executor, number: string, { prenotazione_id: booking, guest_idx: place }: GuestPlace
): Promise<Avviso[]> {
  const guests = (await savedGuests(db, [booking])).get(booking) ?? []
  return guests
    .filter(({ indice, numero_documento: other }) =>
      indice !== place && other !== null && lettersOf(other) === lettersOf(number))
    .map(({ indice }) => (
      { campo: 'docNum', messaggio: `L’ospite ${indice + 1} della prenotazione ha lo stesso numero di documento` }))
}

/** Blanks and punctuation are optional in document numbers. */
function lettersOf (number: string): string {
  return number.toUpperCase().replace(/[^\p{L}\p{N}]/gu, '')
}
