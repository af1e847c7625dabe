import t from 'tap'
import type { BookingDetail } from '#schemas/booking.ts'
import type { ScanGuestResponse } from '#schemas/scan.ts'
import type { ParseMrzResponse } from '#schemas/scanning.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { LAYOUTS } from '#src/scanning/mrz/layouts.ts'
import { member, single, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { create, read, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { writeZone, type ZoneValues } from '#test/scanning/mrz/write-zone.ts'
import type { Static } from '@sinclair/typebox'

/* Documents that lack data required by the police are stored. The rules give advice until the Send. */

const { app, call } = await build(t, {}, undefined, { clock: clockAt(`${today}T12:00:00Z`) })
const GERMANY = '100000216'
/** The fields that no zone contains, for a holder born in Germany. */
const BORN = { stato_nascita: GERMANY }
const PASSPORT = { tipo_documento: 'PASOR', numero_documento: 'C01X00T99', luogo_rilascio: GERMANY }

interface Paper {
  title: string
  layout?: 'TD1' | 'TD2' | 'TD3' | 'MRV-A'
  zone: Partial<ZoneValues>
  /** A warning about the parsed zone. */
  notice?: RegExp
  /** The guest as it is stored. */
  stored?: Record<string, string | null>
  /** The expected errors of the stored guest: a field and its advice. */
  errors: Record<string, RegExp>
  /** The fields that the host then enters. */
  fix: Record<string, string>
  /** A part of the line that is sent. */
  line?: string
}

const SINGLE = /un nome solo.*«[A-Z]+» anche qui/
const FIRST = /solo l’anno.*primo gennaio/

const PAPERS: readonly Paper[] = [
  {
    title: 'a passport with one name',
    zone: { surname: 'SUHARTO', given: '' },
    notice: /un nome solo/,
    stored: { nome: '', cognome: 'SUHARTO' },
    errors: { nome: /indicare «SUHARTO» anche qui/ },
    fix: { nome: 'SUHARTO' },
    line: `${'SUHARTO'.padEnd(50)}SUHARTO `
  },
  {
    title: 'a passport with a given name alone',
    zone: { surname: '', given: 'MARCELLA' },
    stored: { nome: '', cognome: 'MARCELLA' },
    errors: { nome: SINGLE },
    fix: { nome: 'MARCELLA' }
  },
  {
    title: 'a card with one name',
    layout: 'TD1',
    zone: { code: 'I', surname: 'WIDODO', given: '' },
    stored: { nome: '', tipo_documento: 'IDENT' },
    errors: { nome: SINGLE },
    fix: { nome: 'WIDODO' }
  },
  {
    title: 'a passport without sex',
    zone: { sex: '' },
    notice: /non indica M o F/,
    stored: { sesso: null },
    errors: { sesso: /scegliere M o F/ },
    fix: { sesso: 'F' }
  },
  {
    title: 'a birth year alone',
    zone: { birth: '1970' },
    notice: /70<<<<.*01\/01\/1970/,
    stored: { data_nascita: '1970-00-00' },
    errors: { data_nascita: /incompleta.*indicare 1970-01-01/ },
    fix: { data_nascita: '1970-01-01' },
    line: '01/01/1970'
  },
  {
    title: 'a birth year and month',
    zone: { birth: '1970-05' },
    notice: /7005<<.*01\/05\/1970/,
    stored: { data_nascita: '1970-05-00' },
    errors: { data_nascita: /incompleta.*indicare 1970-05-01/ },
    fix: { data_nascita: '1970-05-01' }
  },
  {
    title: 'a birth year with 00 as day and month',
    layout: 'TD2',
    zone: { birth: '1970-00-00' },
    notice: /700000.*01\/01\/1970/,
    stored: { data_nascita: '1970-00-00' },
    errors: { data_nascita: /incompleta.*indicare 1970-01-01/ },
    fix: { data_nascita: '1970-01-01' }
  },
  {
    title: 'a birth date with 00 as day',
    zone: { birth: '1970-05-00' },
    notice: /700500.*01\/05\/1970/,
    stored: { data_nascita: '1970-05-00' },
    errors: { data_nascita: /incompleta.*indicare 1970-05-01/ },
    fix: { data_nascita: '1970-05-01' }
  },
  {
    title: 'no birth date at all',
    zone: { birth: '' },
    notice: /<<<<<<.*non è indicata per intero/,
    errors: { data_nascita: FIRST },
    fix: { data_nascita: '1950-01-01' }
  },
  { title: 'no expiry', zone: { expiry: '' }, notice: /La scadenza.*<<<<<</, errors: {}, fix: {} },
  {
    title: 'a residence permit',
    layout: 'TD1',
    zone: { code: 'IR' },
    notice: /permesso di soggiorno.*passaporto o il titolo di viaggio/,
    stored: { tipo_documento: null, numero_documento: null },
    errors: { tipo_documento: /permesso di soggiorno non è ammesso/, numero_documento: /./, luogo_rilascio: /./ },
    fix: PASSPORT
  },
  {
    title: 'a visa',
    layout: 'MRV-A',
    zone: { code: 'V' },
    notice: /visto.*passaporto/,
    errors: { tipo_documento: /serve il passaporto/, numero_documento: /./, luogo_rilascio: /./ },
    fix: { ...PASSPORT, numero_documento: 'C01X00T98' }
  },
  {
    title: 'a document number of 22 characters',
    layout: 'TD1',
    zone: { code: 'I', number: 'AB1234567890123456789X' },
    stored: { numero_documento: 'AB1234567890123456789X' },
    errors: { numero_documento: /22 caratteri: il massimo è 20.*un documento solo/ },
    fix: { numero_documento: 'AB12345678' }
  },
  {
    title: 'a refugee without a citizenship code',
    zone: { nationality: 'XXB' },
    notice: /XXB non ha un codice/,
    stored: { cittadinanza: null },
    errors: { cittadinanza: /./ },
    fix: { cittadinanza: GERMANY }
  },
  {
    title: 'a passport with one name, no sex and no birth date',
    zone: { surname: 'THANT', given: '', sex: '', birth: '' },
    errors: { nome: SINGLE, sesso: /M o F/, data_nascita: FIRST },
    fix: { nome: 'THANT', sesso: 'M', data_nascita: '1949-01-01' }
  }
]

const LETTERS = 'ABCDEFGHILMNOPQ'

PAPERS.forEach(({ title, layout = 'TD3', zone, notice = /./, stored = {}, errors, fix, line }, at) => {
  t.test(`${title} is parsed, stored and, when complete, sent`, async (t) => {
    const values: ZoneValues = {
      code: 'P',
      issuer: 'D',
      nationality: 'D',
      surname: `MUSTER ${LETTERS[at]}`,
      given: 'ERIKA',
      number: `C01X0${10 + at}T7`,
      birth: '1980-05-15',
      sex: 'F',
      expiry: '2031-06-30',
      optional: '',
      further: '',
      ...zone
    }
    const lines = writeZone(LAYOUTS.find(({ name }) => name === layout)!, values)
    const zoneRead = (await call('POST', '/api/mrz/parse', { lines })).json<ParseMrzResponse>()
    t.ok(zoneRead.parsed.valid)
    t.match(zoneRead.avvisi.map(({ messaggio }) => messaggio).join(' ') || '-', notice)

    const { name, surname, docNumber: docNum, birthDate, gender, nationality, expiryDate } = zoneRead.parsed
    const { documentCode, issuingCountry } = zoneRead.parsed
    const scan = await call('POST', '/api/save-scan', {
      name, surname, docNum, birthDate, gender, nationality, expiryDate, documentCode, issuingCountry
    })
    t.equal(scan.statusCode, 200, scan.body)

    const { id } = await create(call, { check_in: today, numero_ospiti: 1 })
    const { da_completare: _missing, proposti: _proposed, ...ospite } = zoneRead.ospite
    const saved = await saveGuests(call, id, [ospite])
    t.equal(saved.statusCode, 200, saved.body)
    t.match((await read(call, id)).ospiti as BookingDetail['ospiti'], [pick(stored)])
    const made = await call('POST', `/api/v1/scansioni/${scan.json<{ id: number }>().id}/ospite`, {
      prenotazione_id: id, guest_idx: 0, dati: BORN
    })
    t.equal(made.statusCode, 200, made.body)
    const { data } = made.json<Static<typeof ScanGuestResponse>>()
    t.match(data.ospite, stored)

    const judged = await call('POST', '/api/alloggiati/valida', {
      ospiti: [{ ...data.ospite, tipo_alloggiato: '16' }], prenotazione: { check_in: today, numero_notti: 3 }
    })
    t.same(named(judged.json<{ errors: Segnalazione[] }>().errors), named(data.errors))
    t.same(Object.keys(named(data.errors)).sort(), Object.keys(errors).sort())
    t.match(named(data.errors), errors)
    const send = async () => call('POST', `/api/v1/prenotazioni/${id}/invio`)
    if (data.errors.length > 0) t.match((await send()).json(), { status: 422, codice: 'VALIDAZIONE' })

    const { id: _id, ...fields } = data.ospite
    t.equal((await saveGuests(call, id, [{ ...fields, ...fix }])).statusCode, 200)
    const sent = await send()
    t.match(sent.json(), { success: true }, sent.body)
    const [row] = await app.sql`select riga from sandbox_schedine order by id desc limit 1`
    t.match(row!.riga, line ?? (values.surname || values.given))
  })
})

/** Messages by field. */
function named (found: readonly Segnalazione[]): Record<string, string> {
  return Object.fromEntries(found.map(({ campo, messaggio }) => [campo, messaggio]))
}

/** The fields of the guest that the detail of a booking shows. */
function pick (stored: Record<string, string | null>) {
  const shown = ['nome', 'cognome', 'sesso', 'data_nascita', 'tipo_documento', 'numero_documento']
  return Object.fromEntries(Object.entries(stored).filter(([name]) => shown.includes(name)))
}

const LONG = 'MARIA DE LOS ANGELES GUADALUPE TERESA CONCEPCION DE BORBON'

t.test('fields as a host types them are stored, and the rules name the right value', async (t) => {
  const cases: [changes: Record<string, string>, campo: string, way: RegExp][] = [
    [{ cognome: LONG }, 'cognome', /58 caratteri: il massimo è 50.*«MARIA DE LOS ANGELES GUADALUPE TERESA CONCEPCION»/],
    [{ nome: LONG }, 'nome', /il massimo è 30.*«MARIA DE LOS ANGELES GUADALUPE»/],
    [{ nome: 'A'.repeat(31) }, 'nome', new RegExp(`«${'A'.repeat(30)}»`)],
    [{ nome: '' }, 'nome', /«PROVETTI» anche qui/],
    [{ sesso: 'X' }, 'sesso', /indica X, scegliere M o F/],
    [{ sesso: '' }, 'sesso', /scegliere M o F/],
    [{ data_nascita: '' }, 'data_nascita', FIRST],
    [{ numero_documento: 'YA1234567 Questura di Roma' }, 'numero_documento', /senza ente, data o altri numeri/],
    [{ tipo_documento: 'PERMS' }, 'tipo_documento', /PASOR passaporto.*permesso di soggiorno non è ammesso/],
    [{ tipo_documento: '' }, 'tipo_documento', /permesso di soggiorno non è ammesso/],
    [{ tipo_alloggiato: '19' }, 'tipo_alloggiato', /già stato comunicato o è partito, indicarlo come ospite singolo \(16\)/],
    [{ tipo_alloggiato: '20' }, 'tipo_alloggiato', /già stato comunicato o è partito, indicarlo come ospite singolo \(16\)/]
  ]
  for (const [changes, campo, way] of cases) {
    const { id } = await create(call, { check_in: today, numero_ospiti: 1 })
    const saved = await saveGuests(call, id, [single({ numero_documento: 'CA12345AA', ...changes })])
    t.equal(saved.statusCode, 200, saved.body)
    const { errors } = (await call('POST', `/api/v1/prenotazioni/${id}/schedine`)).json<{ errors: Segnalazione[] }>()
    t.match(errors, [{ campo, messaggio: way }], JSON.stringify(changes))
    t.equal(errors.length, 1)
  }
})

const SCAN = {
  name: 'ADA', surname: 'PROVETTI', docNum: 'C01X00T47', birthDate: '1970-05-15', gender: 'F', nationality: 'DEU'
}

t.test('a scan is returned as the document prints it, with any missing data', async (t) => {
  const cases: Partial<typeof SCAN>[] = [
    { name: '' }, { surname: '' }, { gender: '' }, { gender: 'X' }, { docNum: '' }, { nationality: '' },
    { birthDate: '' }, { birthDate: '1970-00-00' }, { birthDate: '1970-05-00' },
    { name: '', gender: 'X', docNum: '', nationality: '', birthDate: '' }
  ]
  const none = { name: null, docNum: null, birthDate: null, gender: null, nationality: null }
  const unsaid = await call('POST', '/api/save-scan', { ...SCAN, ...none })
  t.equal(unsaid.statusCode, 200, unsaid.body)
  t.match((await call('GET', `/api/v1/scansioni/${unsaid.json().id}`)).json(), {
    data: { name: '', docNum: '', birthDate: '', gender: '', nationality: '' }
  })
  for (const changes of cases) {
    const saved = await call('POST', '/api/save-scan', { ...SCAN, ...changes })
    t.equal(saved.statusCode, 200, saved.body)
    const { id } = saved.json<{ id: number }>()
    t.match((await call('GET', `/api/v1/scansioni/${id}`)).json(), { data: { ...SCAN, ...changes } })
    const { id: prenotazione_id } = await create(call, { numero_ospiti: 1 })
    const made = await call('POST', `/api/v1/scansioni/${id}/ospite`, { prenotazione_id, guest_idx: 0 })
    t.equal(made.statusCode, 200, made.body)
    const data_nascita = (changes.birthDate ?? SCAN.birthDate) || null
    t.match(made.json(), { data: { ospite: { data_nascita } } })
    if (changes.birthDate === '1970-05-00') t.match(made.json(), { data: { avvisi: [{ messaggio: /01\/05\/1970/ }] } })
  }
  for (const birthDate of ['0000-00-00', '1970-13-00', '1970-00-15', '1970-02-30', '2027-00-00']) {
    const refused = await call('POST', '/api/save-scan', { ...SCAN, birthDate })
    t.match(refused.json(), { dettagli: [{ campo: 'birthDate' }] })
  }
  const nameless = await call('POST', '/api/save-scan', { ...SCAN, name: ' ', surname: '' })
  t.match(nameless.json(), { status: 400, dettagli: [{ campo: 'surname' }] })
})

t.test('a saved scan warns about unknown states and wrongly decoded names', async (t) => {
  for (const [changes, campo, messaggio] of [
    [{ nationality: 'QQQ' }, 'nationality', /^QQQ non è il codice di uno stato/],
    [{ nationality: '999999999' }, 'nationality', /^999999999 non è/],
    [{ issuingCountry: 'QQZ' }, 'issuingCountry', /^QQZ non è/],
    [{ surname: 'GarcÃ­a' }, 'surname', /^Il cognome sembra letto .*«García»/],
    [{ name: 'JosÃ©' }, 'name', /^Il nome sembra letto .*«José»/]
  ] as const) {
    const saved = await call('POST', '/api/save-scan', { ...SCAN, ...changes })
    t.match(saved.json(), { success: true, avvisi: [{ campo, messaggio }] })
    t.equal(saved.json().avvisi.length, 1)
  }
  for (const changes of [{}, { nationality: 'XXA' }, { nationality: '100000216' }, { nationality: 'GBN' }]) {
    t.same((await call('POST', '/api/save-scan', { ...SCAN, ...changes })).json().avvisi, [], JSON.stringify(changes))
  }
})

t.test('a toddler whose family was already sent is sent alone, after the document is known', async (t) => {
  const { id } = await create(call, { check_in: today, numero_ospiti: 3 })
  const parents = [
    single({ tipo_alloggiato: '17', cognome: 'NIDI', numero_documento: 'CA54321AA' }),
    member('19', 'CARLA', { cognome: 'NIDI' })
  ]
  const toddler = member('19', 'PIO', { cognome: 'NIDI', data_nascita: '2025-03-04' })
  const send = async () => call('POST', `/api/v1/prenotazioni/${id}/invio`, { solo_mancanti: true })
  await saveGuests(call, id, parents)
  t.match((await send()).json(), { success: true })
  await saveGuests(call, id, [...parents, toddler])
  const refused = (await send()).json<{ errors: Segnalazione[] }>()
  t.match(refused, { status: 422, codice: 'VALIDAZIONE', errors: [{ ospite: 2, messaggio: /chiedere alla Questura/ }] })
  t.match(refused.errors[0]!.messaggio, /ospite singolo \(16\): il capo è già stato inviato/)
  await saveGuests(call, id, [...parents, { ...toddler, ...PASSPORT, numero_documento: 'C01X00T55' }])
  t.match((await send()).json(), { success: true })
})

t.test('a person with two documents is one guest, with the passport, in any order of scans', async (t) => {
  const { id } = await create(call, { check_in: today, numero_ospiti: 2 })
  const scan = async (guest_idx: number, changes: Partial<typeof SCAN> & { documentCode: string }) => {
    const saved = await call('POST', '/api/save-scan', { ...SCAN, issuingCountry: 'DEU', ...changes })
    const body = { prenotazione_id: id, guest_idx, dati: BORN }
    return (await call('POST', `/api/v1/scansioni/${saved.json<{ id: number }>().id}/ospite`, body))
      .json<Static<typeof ScanGuestResponse>>().data
  }
  const { ospite } = await scan(0, { documentCode: 'P' })
  const permit = await scan(0, { documentCode: 'IR', docNum: 'RP1234567', gender: 'X' })
  t.match(permit, { ospite }, 'the permit adds nothing')
  const second = await scan(1, { documentCode: 'I', docNum: 'L01X00T47' })
  t.match(second.avvisi, [{ campo: 'surname', messaggio: /L’ospite 1 .* con un solo documento/ }])
  t.match(second.errors, [{ campo: 'cognome', messaggio: /chi ha due documenti si comunica una volta sola/ }])
  const other = await scan(0, { documentCode: 'IR', name: 'UGO', birthDate: '', gender: '' })
  t.match(other.ospite, { nome: 'UGO', sesso: null, data_nascita: null, numero_documento: null, tipo_documento: null })
})
