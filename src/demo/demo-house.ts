import type { EstablishmentChange } from '#schemas/establishment-record.ts'
import type { GuestInput } from '#schemas/guest.ts'
import type { UnitCreation } from '#schemas/unit.ts'

/* An invented house. All its people are invented too. */

export const HOUSE: EstablishmentChange = {
  nome: 'Casa delle Camelie',
  tipo: 'affittacamere',
  comune: '013075',
  indirizzo: 'Lungolago 4, 22100 Como',
  cin: 'IT013075B4DEMO0001'
}

export const UNITS: readonly UnitCreation[] = [
  { nome: 'Glicine', tipo: 'camera', ospiti_massimi: 2, gruppo: 'Primo piano' },
  { nome: 'Limone', tipo: 'camera', ospiti_massimi: 2, gruppo: 'Primo piano' },
  { nome: 'Oleandro', tipo: 'camera', ospiti_massimi: 3, gruppo: 'Secondo piano' },
  { nome: 'Ginestra', tipo: 'camera', ospiti_massimi: 3, gruppo: 'Secondo piano' },
  { nome: 'Appartamento al lago', tipo: 'appartamento', ospiti_massimi: 5, camere: 2 },
  { nome: 'Monolocale', tipo: 'appartamento', ospiti_massimi: 2 }
].map((unit, at) => ({ ...unit, ordine: at + 1 }) as UnitCreation)

/** A block of a unit: the first night, and the day after the last night, as days from today. */
export const BLOCK = { unit: 'Monolocale', from: 12, to: 15, motivo: 'manutenzione', note: 'Tinteggiatura' } as const

/** The state of a booking's guests: all data, one datum missing or wrong, or none yet. */
type Data = 'completi' | 'senza sesso' | 'senza nascita' | 'altra provincia' | 'stato in parole' | 'mancano'

interface DemoBooking {
  /** The unit, or undefined while none is assigned. */
  unit: string | undefined
  /** The first night, as days from today. */
  start: number
  nights: number
  country: Country
  surname: string
  guests: readonly { name: string, sex: 'F' | 'M' }[]
  channel: string
  state: 'confermata' | 'annullata' | 'non_presentato'
  data: Data
}

const COUNTRIES = {
  IT: { id: 380, code: '100000100' },
  DE: { id: 276, code: '100000216' },
  FR: { id: 250, code: '100000215' },
  GB: { id: 826, code: '100000219' },
  US: { id: 840, code: '100000536' },
  NL: { id: 528, code: '100000232' },
  CH: { id: 756, code: '100000241' },
  AT: { id: 40, code: '100000203' },
  ES: { id: 724, code: '100000239' },
  SE: { id: 752, code: '100000240' }
} as const
type Country = keyof typeof COUNTRIES

/** Towns of birth of the Italian guests: code and province. */
const TOWNS = [['412058091', 'RM'], ['403015146', 'MI'], ['401001272', 'TO'], ['408037006', 'BO']] as const

/**
 * Unit, first night, nights, country, surname, guests, channel, state of the booking or of its data. At least two
 * spaces separate the columns.
 */
const TABLE = `
Glicine               -11  3  IT  Bellini      Giulia F, Marco M                 Diretto
Glicine                -8  2  DE  Brandt       Katrin F                          Booking.com
Glicine                -5  4  FR  Lefort       Claire F, Hugo M                  Airbnb
Glicine                -1  3  AT  Gruber       Johanna F, Stefan M               Booking.com
Glicine                 2  2  IT  Fontana      Elena F                           Diretto      mancano
Glicine                 6  3  GB  Whitmore     Alice F, James M                  Airbnb       mancano
Glicine                12  5  NL  De Graaf     Sanne F, Bram M                   Booking.com  mancano
Limone                -10  2  CH  Keller       Regula F, Beat M                  Booking.com
Limone                 -7  4  IT  Marchetti    Paolo M                           Diretto
Limone                 -3  3  ES  Robles       Lucia F, Pablo M                  Booking.com
Limone                  0  2  DE  Neumann      Sabine F, Thomas M                Booking.com
Limone                  3  4  FR  Marchand     Camille F                         Airbnb       mancano
Limone                  9  2  IT  Gentili      Sara F, Luca M                    Diretto      mancano
Oleandro               -9  3  US  Caldwell     Megan F, Tyler M                  Expedia
Oleandro               -6  5  IT  Ferraris     Anna F, Dario M, Tommaso M        Diretto
Oleandro               -1  1  SE  Lindahl      Elin F, Oskar M                   Booking.com
Oleandro                0  3  FR  Perrault     Sophie F, Julien M, Emma F        Booking.com  senza sesso
Oleandro                4  3  DE  Schreiber    Ulrike F, Jens M                  Booking.com  mancano
Oleandro               10  4  GB  Ashdown      Emily F, Oliver M                 Airbnb       mancano
Ginestra              -12  5  NL  Van Dalen    Femke F, Daan M                   Booking.com
Ginestra               -4  3  IT  Colombari    Chiara F                          Diretto
Ginestra               -1  1  CH  Zimmerli     Ursina F, Reto M                  Airbnb       senza nascita
Ginestra                2  3  AT  Hofer        Magdalena F                       Booking.com  mancano
Ginestra                7  7  SE  Bergvall     Astrid F, Nils M, Freja F         Booking.com  mancano
Appartamento al lago  -10  7  DE  Vogelsang    Petra F, Klaus M, Lena F, Finn M  Airbnb
Appartamento al lago   -2  7  US  Harlow       Grace F, Ethan M, Zoe F, Owen M   Airbnb
Appartamento al lago    5  7  FR  Dumoulin     Nathalie F, Remi M, Lou F         Booking.com  mancano
Appartamento al lago   14  7  IT  Salvetti     Marta F, Andrea M, Pietro M       Diretto      mancano
Monolocale             -8  3  GB  Pemberton    Harriet F                         Booking.com
Monolocale             -5  3  IT  Rinaldini    Silvia F, Fabio M                 Diretto
Monolocale              0  4  IT  Moretti      Laura F, Davide M                 Diretto      altra provincia
Monolocale              5  2  ES  Cardenas     Ines F                            Airbnb       mancano
Monolocale              8  3  CH  Baumgartner  Nicole F, Marc M                  Booking.com  mancano
-                       0  2  GB  Thornbury    Charlotte F, Henry M              Booking.com  mancano
-                       1  2  DE  Eichhorn     Birgit F, Holger M                Airbnb       stato in parole
-                       8  3  IT  Bassani      Federica F                        Diretto      mancano
-                       0  2  NL  Hoekstra     Marieke F, Joost M                Booking.com  annullata
-                       3  2  IT  Pellegri     Roberto M                         Diretto      annullata
-                      -6  2  FR  Garnier      Amelie F                          Booking.com  annullata
-                      -1  2  US  Prescott     Hannah F, Caleb M                 Expedia      non_presentato
`

export const BOOKINGS: readonly DemoBooking[] = TABLE.trim().split('\n').map((row) => {
  const [unit, start, nights, country, surname, guests = '', channel, note = ''] = row.split(/ {2,}/)
  const isState = note === 'annullata' || note === 'non_presentato'
  return {
    unit: unit === '-' ? undefined : unit,
    start: Number(start),
    nights: Number(nights),
    country: country as Country,
    surname: surname!,
    guests: guests.split(', ').map((each) => {
      const [name = '', sex = ''] = each.split(' ')
      return { name, sex: sex as 'F' | 'M' }
    }),
    channel: channel!,
    state: isState ? note : 'confermata',
    data: isState ? 'mancano' : note === '' ? 'completi' : note as Data
  }
})

export function countryIdOf ({ country }: DemoBooking): number {
  return COUNTRIES[country].id
}

/** The guests of booking number `at`. The first one is the leader. */
export function guestsOf ({ guests, surname, country, data }: DemoBooking, at: number): GuestInput[] {
  if (data === 'mancano') return []
  const all = guests.map((guest, index): GuestInput => ({
    tipo_alloggiato: guests.length === 1 ? '16' : index === 0 ? '17' : '19',
    cognome: surname,
    nome: guest.name,
    sesso: guest.sex,
    data_nascita: birthday(at, index),
    ...birthplace(country, at),
    cittadinanza: COUNTRIES[country].code,
    ...index === 0 && documentOf(country, at)
  }))
  return all.map((guest, index) => index === all.length - 1 ? { ...guest, ...FLAWS[data] } : guest)
}

/** The changes that make the data of the last guest incomplete or wrong. */
const FLAWS: Readonly<Record<Data, Partial<GuestInput>>> = {
  completi: {},
  mancano: {},
  'senza sesso': { sesso: null },
  'senza nascita': { data_nascita: null, stato_nascita: null },
  'altra provincia': { provincia_nascita: 'NA' },
  'stato in parole': { stato_nascita: 'DEUTSCHLAND', cittadinanza: 'DEUTSCHLAND' }
}

/** The first two guests are adults, the others children. */
function birthday (at: number, index: number): string {
  const year = index < 2 ? 1962 + (at * 7 + index * 2) % 36 : 2012 + (at + index) % 9
  return `${year}-${pad(1 + (at * 5 + index) % 12)}-${pad(1 + (at * 11 + index * 3) % 28)}`
}

function pad (number: number, length = 2): string {
  return String(number).padStart(length, '0')
}

function birthplace (country: Country, at: number): Partial<GuestInput> {
  const { code } = COUNTRIES[country]
  if (country !== 'IT') return { stato_nascita: code }
  const [comune_nascita, provincia_nascita] = TOWNS[at % TOWNS.length]!
  return { stato_nascita: code, comune_nascita, provincia_nascita }
}

function documentOf (country: Country, at: number): Partial<GuestInput> {
  const [comune] = TOWNS[at % TOWNS.length]!
  return country === 'IT'
    ? { tipo_documento: 'IDELE', numero_documento: `CA${pad(at, 5)}AA`, luogo_rilascio: comune }
    : { tipo_documento: 'PASOR', numero_documento: `X${pad(at, 7)}`, luogo_rilascio: COUNTRIES[country].code }
}
