import t from 'tap'
import type { Country } from '#schemas/country.ts'
import type { Schedina, Segnalazione } from '#schemas/schedina.ts'
import { foreigner, member, single, today } from '#test/alloggiati/rules/samples.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'

/* Warnings about doubtful values, and the wording of Italian texts for users. */

const { call } = await build(t, { TODAY: today })

interface Judged { valid: boolean, errors: Segnalazione[], warnings: Segnalazione[] }

const STAY = { check_in: today, numero_notti: 3 }

async function check (ospiti: Schedina[], prenotazione: object = STAY): Promise<Judged> {
  return (await call('POST', '/api/alloggiati/valida', { ospiti, prenotazione })).json<Judged>()
}

const about = (remarks: readonly Segnalazione[], field: string) =>
  remarks.filter(({ campo }) => campo === field).map(({ messaggio }) => messaggio).join(' ')

t.test('a placeholder as document number gets a warning, and a real number does not', async (t) => {
  const placeholders = [
    '0000000', '000000000', 'n.d.', 'N/A', 'nd', 'XXXXXXX', '1234567', '123456789', '987654321', 'abcdefgh', 'TEST',
    'non disponibile', 'sconosciuto', 'da completare', '-0-', '99999', 'AAAAA', 'qwerty', 'Passaporto', 'NULL'
  ]
  for (const numero_documento of placeholders) {
    for (const tipo_documento of ['PASOR', 'IDENT']) {
      const { valid, warnings } = await check([foreigner({ tipo_documento, numero_documento })])
      t.ok(valid)
      t.match(warnings, [{ campo: 'numero_documento', messaggio: /non sembra vero: ricopiarlo/ }], numero_documento)
      t.equal(warnings.length, 1)
    }
  }
  for (const numero_documento of ['C01X00T47', 'L8XT3912K', '1230567', 'AB0000001', '12-34-57']) {
    t.same((await check([foreigner({ tipo_documento: 'IDENT', numero_documento })])).warnings, [], numero_documento)
  }
})

t.test('the same document number of two guests is a warning on the second one, in any spelling', async (t) => {
  const same = ['C01X00T47', 'c01x00t47', 'C01 X00 T47', 'C01-X00-T47', 'C01.X00/T47']
  for (const numero_documento of same) {
    const { warnings } = await check([foreigner(), foreigner({ nome: 'UTE', numero_documento })])
    t.match(warnings.filter(({ ospite }) => ospite === 1).map(({ messaggio }) => messaggio).join(' '),
      /Anche l’ospite 1 ha questo numero/)
  }
  const family = [foreigner({ tipo_alloggiato: '17' }), member('19', 'UTE', { numero_documento: 'C01X00T47' })]
  t.notMatch(about((await check(family)).warnings, 'numero_documento'), /Anche/, 'a member sends no document')
  t.same((await check([foreigner(), foreigner({ nome: 'UTE', numero_documento: 'C01X00T48' })])).warnings, [])
})

t.test('a wrongly decoded name of a booking causes a warning with the probable name', async (t) => {
  for (const [nome_cognome, probable] of [
    ['Ana GarcÃ­a', 'Ana García'], ['JosÃ© Neri', 'José Neri'], ['Ana García', '']
  ] as const) {
    const { id } = await create(call, { check_in: today, nome_cognome })
    const { warnings } = (await call('POST', `/api/v1/prenotazioni/${id}/schedine`)).json<Judged>()
    const text = about(warnings, 'nome_cognome')
    t.equal(text.includes(`Probabilmente è «${probable}»`), probable !== '', nome_cognome)
  }
})

t.test('a code shared with bookings of other people causes a warning if the arrivals are close', async (t) => {
  const nearby = { idf_gen: 'HM4XK7Q2', nome_cognome: 'Ugo Neri' }
  const { id: first } = await create(call, { check_in: today, idf_gen: 'HM4XK7Q2' })
  const warned = async (id: number) =>
    about((await call('POST', `/api/v1/prenotazioni/${id}/schedine`)).json<Judged>().warnings, 'idf_gen')
  await create(call, { ...nearby, nome_cognome: 'ANNA BIANCHI' })
  await create(call, { ...nearby, check_in: '2026-11-29' })
  await create(call, { ...nearby, idf_gen: 'HM4XK7Q3' })
  t.equal(await warned(first), '', 'same person, later arrival, other code')
  const { id: second } = await create(call, { ...nearby, check_in: '2026-11-28' })
  t.equal(await warned(first), `Anche la prenotazione ${second} ha questo codice, con un altro nome: controllarlo`)
  const { id: third } = await create(call, { ...nearby, check_in: '2026-11-14' })
  t.match(await warned(first), `Anche le prenotazioni ${second}, ${third} hanno questo codice`)
})

const NAMES = [
  'García', 'Nicolò', 'José', 'Müller', 'Peña', 'Gonçalves', 'Søren', 'Kovács', 'Šimun', 'Żółć', 'Strauß', 'Dvořák',
  'Nicolà', 'Zoë', 'Éloïse', 'D’Amico'
]

const utf8AsWindows1252 = (text: string) => new TextDecoder('windows-1252').decode(new TextEncoder().encode(text))

t.test('a name with the wrong encoding gets the probable name, in a warning or in the error', async (t) => {
  for (const name of NAMES) {
    for (const wrong of [utf8AsWindows1252(name), utf8AsWindows1252(utf8AsWindows1252(name))]) {
      for (const field of ['cognome', 'nome']) {
        const { errors, warnings } = await check([single({ [field]: wrong })])
        t.match(about([...errors, ...warnings], field), `Probabilmente è «${name}»`, wrong)
        if (errors.length > 0) t.same(warnings, [], 'a field with an error has no warning')
      }
    }
    t.notMatch(about((await check([single({ cognome: name })])).warnings, 'cognome'), /Probabilmente/)
  }
  for (const name of ['GARCÃ', 'Ana Sofia Conceição', 'JOÃO', 'Â', 'Ångström']) {
    t.notMatch(about((await check([single({ cognome: name })])).warnings, 'cognome'), /Probabilmente/, name)
  }
})

t.test('the countries have their everyday Italian names, without stray blanks', async (t) => {
  const { data } = (await call('GET', '/api/v1/paesi')).json<{ data: Country[] }>()
  const names = new Map(data.map(({ iso2, nome }) => [iso2, nome]))
  const everyday = {
    TW: 'Taiwan',
    MM: 'Myanmar (Birmania)',
    PA: 'Panama',
    FO: 'Isole Faroe',
    BQ: 'Bonaire, Sint Eustatius e Saba',
    CC: 'Isole Cocos (Keeling)',
    GF: 'Guyana francese',
    IO: 'Territorio britannico dell’Oceano Indiano',
    TF: 'Terre australi e antartiche francesi',
    IT: 'Italia',
    CN: 'Cina'
  }
  for (const [iso2, nome] of Object.entries(everyday)) t.equal(names.get(iso2), nome)
  t.same(data.filter(({ nome }) => nome !== nome.trim() || /\s\s/.test(nome)), [])
  t.equal(names.size, new Set(names.values()).size)
})

t.test('numbers, articles and days agree in composed texts', async (t) => {
  const age = async (data_nascita: string) => about((await check([single({ data_nascita })])).warnings, 'data_nascita')
  const stay = async (numero_notti: number) =>
    about((await check([single()], { check_in: today, numero_notti })).warnings, 'numero_notti')
  const line = async (text: string) =>
    (await call('POST', '/api/mrz/parse', { lines: [text, text] })).json<{ dettagli: Segnalazione[] }>()
      .dettagli[0]!.messaggio
  const scan = {
    name: 'ADA', surname: 'NERI', docNum: 'YA1234567', birthDate: '1980-01-01', gender: 'F', nationality: 'ITA'
  }
  const expiry = async (expiryDate: string) => (await call('POST', '/api/save-scan', {
    ...scan, expiryDate
  })).json<{ avvisi: Segnalazione[] }>().avvisi[0]!.messaggio
  const saved = async (count: number) => {
    const { id } = await create(call, { check_in: today, numero_ospiti: 2 })
    const dati = Array.from({ length: count }, () => single())
    return (await saveGuests(call, id, dati)).json<{ message: string }>().message
  }
  const cases: [string, RegExp][] = [
    [await age('2025-11-20'), /minorenne \(1 anno\)/],
    [await age('2026-11-01'), /minorenne \(0 anni\)/],
    [await age('2024-11-01'), /minorenne \(2 anni\)/],
    [await stay(45), /; dal 21\/12\/2026 serve/],
    [await line('<'), /^ha 1 carattere: devono essere/],
    [await line('<<'), /^ha 2 caratteri: devono essere/],
    [await expiry('2025-11-11'), /scaduto l’11\/11\/2025$/],
    [await expiry('2025-11-08'), /scaduto l’08\/11\/2025$/],
    [await expiry('2025-11-18'), /scaduto il 18\/11\/2025$/],
    [await saved(1), /^1 ospite salvato$/],
    [await saved(2), /^2 ospiti salvati$/],
    [await saved(0), /^0 ospiti salvati$/]
  ]
  for (const [text, wanted] of cases) t.match(text, wanted)
  const shifted = await check([single()], { check_in: '2026-11-10', numero_notti: 45 })
  t.match(about(shifted.warnings, 'numero_notti'), /; dal 10\/12\/2026 serve/)
})
