import type { Booking, BookingDetail } from '#schemas/booking.ts'
import type { Country } from '#schemas/country.ts'
import { call, type Context } from '../command-context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { expectBody } from '../server-call.ts'
import { card, moment, table, type Column } from '../output.ts'

interface ListOptions { q?: string, da?: string, a?: string, limit?: number, sort?: string }

/** Default number of bookings. Without a limit the server would send all bookings. */
const DEFAULT_LIMIT = 100
const PATH = '/api/v1/prenotazioni'

const COLUMNS: readonly Column[] = [
  { title: 'id', right: true },
  { title: 'arrivo' },
  { title: 'partenza' },
  { title: 'notti', right: true },
  { title: 'ospiti', right: true },
  { title: 'nome', max: 40 },
  { title: 'codice', max: 30 }
]
const GUEST_COLUMNS: readonly Column[] = [
  { title: 'n.', right: true },
  { title: 'cognome', max: 30 },
  { title: 'nome', max: 30 },
  { title: 'sesso' },
  { title: 'nascita' },
  { title: 'documento' }
]

export async function listBookings (
  context: Context,
  { q, da, a, limit = DEFAULT_LIMIT, sort }: ListOptions
): Promise<Exit> {
  const response = await call(context, PATH, { query: { q, check_in_da: da, check_in_a: a, limit, sort } })
  const { data } = expectBody<{ data: Booking[] }>(response, 'data')
  // The server sends no count for a search with many matches.
  const counted = response.headers.get('x-total-count') ?? (response.headers.has('link') ? null : data.length)
  const totale = counted === null ? null : Number(counted)
  const rows = data.map((row) =>
    [row.id, row.check_in, row.check_out, row.numero_notti, row.numero_ospiti, row.nome_cognome, row.idf_gen ?? ''].map(
      String
    )
  )
  context.out.result(rows.length > 0 ? table(COLUMNS, rows) : 'Nessuna prenotazione.', { data, totale })
  if (totale === null || totale > data.length) {
    const shown = data.length === 1 ? 'Mostrata 1 prenotazione' : `Mostrate ${data.length} prenotazioni`
    context.out.note(`${shown} su ${totale ?? 'molte'}: restringere la ricerca, o --limit`)
  }
  return EXIT.ok
}

export async function showBooking (context: Context, id: number): Promise<Exit> {
  const { data } = expectBody<{ data: BookingDetail }>(await call(context, `${PATH}/${id}`), 'data')
  context.out.result(context.out.json ? '' : described(data, await countryName(context, data.paese_id)), data)
  return EXIT.ok
}

function described (booking: BookingDetail, country: string): string {
  const fields = card([
    ['Prenotazione', String(booking.id)],
    ['Nome', booking.nome_cognome],
    ['Arrivo', booking.check_in],
    ['Partenza', booking.check_out],
    ['Notti', String(booking.numero_notti)],
    ['Ospiti', String(booking.numero_ospiti)],
    ['Paese', country],
    ['Lingua', booking.lingua],
    ['E-mail', booking.email],
    ['Telefono', booking.telefono],
    ['Codice', booking.idf_gen],
    ['Creata', moment(booking.created_at)],
    ['Modificata', moment(booking.updated_at)]
  ])
  const guests = booking.ospiti.map((guest, at) => [
    String(at + 1),
    guest.cognome,
    guest.nome,
    guest.sesso ?? '',
    guest.data_nascita ?? '',
    [guest.tipo_documento, guest.numero_documento].filter(Boolean).join(' ')
  ])
  return `${fields}\n\n${guests.length > 0 ? table(GUEST_COLUMNS, guests) : 'Nessun ospite salvato.'}`
}

async function countryName (context: Context, id: number): Promise<string> {
  const { data } = expectBody<{ data: Country[] }>(await call(context, '/api/v1/paesi'), 'data')
  return data.find((country) => country.id === id)?.nome ?? String(id)
}
