import type { ExportQuery } from '#schemas/booking-csv.ts'
import type { Booking } from '#schemas/booking.ts'
import { GuestFields } from '#schemas/guest.ts'
import type { Database } from '#src/database/connect.ts'
import { italianDay } from '#src/lib/time.ts'
import { bookingPages } from '../booking-list.ts'
import { listCountries } from '../countries.ts'
import { savedGuests, type StayWithGuests } from '../stays.ts'
import { listUnits } from '../units/unit-repository.ts'
import { cell } from './formula-guard.ts'

type SavedGuest = StayWithGuests['ospiti'][number]
/** A booking, the name of its unit, and its guests. */
interface Exported { booking: Booking, unit: string | null, guests: readonly SavedGuest[] }

type Cell = string | number | null

const ISO = new Map(listCountries().map(({ id, iso2 }) => [id, iso2]))

/** The columns in order. The import knows all names except `nomi_ospiti`. */
const COLUMNS: Readonly<Record<string, (exported: Exported) => Cell>> = {
  id: ({ booking }) => booking.id,
  codice: ({ booking }) => booking.idf_gen,
  ospite: ({ booking }) => booking.nome_cognome,
  arrivo: ({ booking }) => italianDay(booking.check_in),
  partenza: ({ booking }) => italianDay(booking.check_out),
  notti: ({ booking }) => booking.numero_notti,
  ospiti: ({ booking }) => booking.numero_ospiti,
  nomi_ospiti: ({ guests }) => guests.map(({ nome, cognome }) => `${nome} ${cognome}`.trim()).join(', '),
  stato: ({ booking }) => booking.stato,
  unita: ({ unit }) => unit,
  canale: ({ booking }) => booking.canale,
  prezzo: ({ booking: { prezzo } }) => prezzo === null ? null : (prezzo / 100).toFixed(2).replace('.', ','),
  valuta: ({ booking }) => booking.valuta,
  lingua: ({ booking }) => booking.lingua,
  paese: ({ booking: { paese_id } }) => ISO.get(paese_id) ?? paese_id,
  email: ({ booking }) => booking.email,
  telefono: ({ booking }) => booking.telefono,
  gruppo: ({ booking }) => booking.gruppo,
  note: ({ booking }) => booking.note
}

/** Excel reads a file as UTF-8 only with this mark. */
const BOM = '\ufeff'

/** The matching bookings as CSV. The export holds a connection only while it reads a batch. */
export async function * exportedLines (
  db: Database, { ospiti: byGuest = false, ...filters }: ExportQuery
): AsyncGenerator<string> {
  const units = new Map((await listUnits(db)).map(({ id, nome }) => [id, nome]))
  yield BOM + lineOf([...Object.keys(COLUMNS), ...byGuest ? GuestFields.map((name) => `ospite_${name}`) : []])
  for await (const json of bookingPages(db, filters)) {
    const bookings = JSON.parse(`[${json}]`) as Booking[]
    const saved = await savedGuests(db, bookings.map(({ id }) => id))
    yield bookings.map((booking) => {
      const guests = saved.get(booking.id) ?? []
      const unit = booking.unita_id === null ? null : units.get(booking.unita_id) ?? null
      const cells = Object.values(COLUMNS).map((column) => column({ booking, unit, guests }))
      if (!byGuest) return lineOf(cells)
      const each: readonly (SavedGuest | undefined)[] = guests.length === 0 ? [undefined] : guests
      return each.map((guest) => lineOf([...cells, ...GuestFields.map((name) => guest?.[name] ?? null)])).join('')
    }).join('')
  }
}

function lineOf (cells: readonly Cell[]): string {
  return `${cells.map(cell).join(';')}\r\n`
}
