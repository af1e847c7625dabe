import type { ScanData } from '#schemas/scan.ts'
import type { Avviso } from '#schemas/scanning.ts'
import { savedGuests, type GuestPlace } from '#src/bookings/index.ts'
import { isDay, type Day } from '#src/lib/time.ts'
import { encodingDoubt } from '#src/lib/wrong-encoding.ts'
import type { Executor } from '#src/database/connect.ts'
import { expired, minor, type GuestCodes } from '#src/scanning/index.ts'

/** Notices about a scan: its names, its holder, its expiry, and the other guests of the booking. */
export async function scanNotices (
  db: Executor, data: ScanData, place: GuestPlace | null, today: Day
): Promise<Avviso[]> {
  return [
    ...NAMES.flatMap(([campo, subject]) => {
      const doubt = encodingDoubt(data[campo])
      return doubt === undefined ? [] : { campo, messaggio: `${subject} ${doubt}` }
    }),
    ...(isDay(data.birthDate) ? minor(data.birthDate, today) : []),
    ...(data.expiryDate === '' ? [] : expired(data.expiryDate, today)),
    ...(place === null ? [] : await sameGuest(db, data, place))
  ]
}

const NAMES = [['surname', 'Il cognome'], ['name', 'Il nome']] as const

/** Warns about codes of states that the police tables lack. */
export function unknownStates (
  { nationality, issuingCountry }: ScanData, { citizenship }: Pick<GuestCodes, 'citizenship'>
): Avviso[] {
  return Object.entries({ nationality, issuingCountry }).flatMap(([campo, code]) => {
    if (code === '' || citizenship(code) !== undefined) return []
    return { campo, messaggio: `${code} non è il codice di uno stato: ricopiarlo dal documento, per esempio ITA` }
  })
}

/** Warns when another guest of the booking has the same name and birth date, or the same document number. */
export async function sameGuest (
  db: Executor,
  data: Pick<ScanData, 'docNum' | 'surname' | 'name' | 'birthDate'>,
  { prenotazione_id: booking, guest_idx: place }: GuestPlace
): Promise<Avviso[]> {
  const guests = (await savedGuests(db, [booking])).get(booking) ?? []
  const [number, holder] = [lettersOf(data.docNum), lettersOf(data.surname + data.name)]
  return guests.filter(({ indice }) => indice !== place).flatMap((guest): Avviso[] => {
    const other = `L’ospite ${guest.indice + 1} della prenotazione ha lo stesso`
    if (guest.data_nascita === data.birthDate && lettersOf(guest.cognome + guest.nome) === holder) {
      const messaggio = `${other} nome e la stessa data di nascita: una persona si comunica una volta sola, con un ` +
        'solo documento'
      return [{ campo: 'surname', messaggio }]
    }
    const isSame = number !== '' && lettersOf(guest.numero_documento ?? '') === number
    return isSame ? [{ campo: 'docNum', messaggio: `${other} numero di documento` }] : []
  })
}

/** Letters and digits in capitals, because blanks and punctuation are optional in names and document numbers. */
function lettersOf (text: string): string {
  return text.toUpperCase().replace(/[^\p{L}\p{N}]/gu, '')
}
