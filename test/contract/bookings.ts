import type { Booking, BookingDetail } from '#schemas/booking.ts'
import { booking } from '#test/bookings/samples.ts'
import { anError, anInteger, exactly, INSTANT, type Wanted } from './exactly.ts'
import { PUBLIC_URL, type SharedServer, type Prove } from './shared-server.ts'

const PATH = '/api/v1/prenotazioni'

/** The expected response for a booking that `booking()` of the samples has created. */
export const shown = (changes: Record<string, Wanted> = {}): Record<string, Wanted> => ({
  id: anInteger,
  nome_cognome: 'Anna Bianchi',
  lingua: 'IT',
  email: null,
  telefono: null,
  paese_id: 380,
  check_in: '2026-11-21',
  check_out: '2026-11-24',
  numero_notti: 3,
  numero_ospiti: 2,
  idf_gen: null,
  stato: 'confermata',
  unita_id: null,
  canale: null,
  prezzo: null,
  valuta: null,
  note: null,
  gruppo: null,
  created_at: INSTANT,
  updated_at: INSTANT,
  ...changes
})

const GUEST = {
  nome: 'Anna',
  cognome: 'Bianchi',
  sesso: 'F',
  data_nascita: '1985-04-12',
  luogo_nascita: 'Roma',
  cittadinanza: '100000100',
  tipo_documento: 'IDELE',
  numero_documento: 'CA12345AA',
  luogo_rilascio: '412058091'
}

/** Rows about bookings, their rules and conventions. */
export async function bookingRows ({ key, app }: SharedServer, prove: Prove): Promise<void> {
  const create = async (changes: Record<string, unknown> = {}) => {
    const response = await key('POST', PATH, booking(changes))
    return response.json<{ data: Booking }>().data
  }
  const detail = async (id: number) => (await key('GET', `${PATH}/${id}`)).json<{ data: BookingDetail }>().data

  await prove('E04', async (t) => {
    const whole = { email: 'anna@example.com', telefono: '+39 055 1', idf_gen: 'BK-1', check_out: '2026-11-24' }
    exactly(t, await key('POST', PATH, booking()), 201, { data: shown(), status: 201 })
    const { email, telefono, idf_gen } = whole
    const response = await key('POST', PATH, booking({ ...whole, numero_notti: undefined }))
    const { data } = exactly<{ data: Booking }>(t, response, 201, {
      data: shown({ email, telefono, idf_gen }), status: 201
    })
    t.equal(response.headers.location, `${PATH}/${data.id}`)
    for (const name of ['nome_cognome', 'lingua', 'paese_id', 'check_in', 'numero_ospiti']) {
      exactly(t, await key('POST', PATH, booking({ [name]: undefined })), 400,
        anError(400, /./, { dettagli: [{ campo: name, messaggio: /./ }] }))
    }
    exactly(t, await key('POST', PATH, booking({ numero_notti: undefined })), 400, anError(400, /./, {
      dettagli: [{ campo: 'check_out', messaggio: /./ }, { campo: 'numero_notti', messaggio: /./ }]
    }))
  })

  await prove('E01', async (t) => {
    const { id } = await create({ nome_cognome: 'Carla Calendario' })
    const entries = (await key('GET', '/api/prenotazioni')).json<{ id: number }[]>()
    t.strictSame(entries.find((entry) => entry.id === id), {
      id,
      title: 'Carla Calendario',
      start: '2026-11-21',
      end: '2026-11-24',
      url: `/prenotazioni/${id}`,
      stato: 'confermata'
    })
  })

  await prove('E02', async (t) => {
    const made = await create()
    const response = await key('GET', PATH)
    t.equal(response.statusCode, 200)
    const { data, ...rest } = response.json<{ data: Booking[] }>()
    t.strictSame(rest, {})
    t.strictSame(data.find(({ id }) => id === made.id), made)
  })

  await prove('E03', async (t) => {
    const { id } = await create()
    await key('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [GUEST] })
    const { nome, cognome, sesso, data_nascita, tipo_documento, numero_documento } = GUEST
    exactly(t, await key('GET', `${PATH}/${id}`), 200, {
      data: shown({
        id,
        ospiti: [{
          id: anInteger,
          nome,
          cognome,
          sesso,
          data_nascita,
          tipo_documento,
          numero_documento
        }]
      })
    })
    exactly(t, await key('GET', `${PATH}/2147483647`), 404, anError(404, 'Prenotazione non trovata'))
  })

  await prove('E05', async (t) => {
    const { id } = await create()
    exactly(t, await key('PUT', `${PATH}/${id}`, { telefono: '+39 06 1' }), 200, {
      data: shown({ id, telefono: '+39 06 1' }), status: 200
    })
  })

  await prove('E06', async (t) => {
    const [one, two] = [await create(), await create()]
    exactly(t, await key('POST', `${PATH}/delete-bulk`, { ids: [two.id, one.id, 2_147_483_647] }), 200, {
      message: /^2 prenotazioni/, deleted: [one.id, two.id], status: 200
    })
    exactly(t, await key('POST', `${PATH}/delete-bulk`, {}), 400,
      anError(400, /./, { dettagli: [{ campo: 'ids', messaggio: /./ }] }))
  })

  await prove('E07', async (t) => {
    const { id } = await create()
    exactly(t, await key('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [GUEST, GUEST] }), 200, {
      message: /^2 ospiti/, count: 2, status: 200
    })
    exactly(t, await key('POST', '/api/saveOspiti', {}), 400, anError(400, /./, {
      dettagli: [{ campo: 'prenotazione_id', messaggio: /./ }, { campo: 'dati', messaggio: /./ }]
    }))
  })

  await prove('B1', async (t) => {
    t.match(await create({ check_out: '2026-11-23', numero_notti: 9 }), { check_out: '2026-11-23', numero_notti: 2 })
  })

  await prove('B2', async (t) => {
    t.match(await create({ check_in: '2026-12-30', numero_notti: 3 }), { check_out: '2027-01-02' })
  })

  await prove('B3', async (t) => {
    const nights = { numero_notti: undefined, check_out: '2026-11-28' }
    t.match(await create(nights), { numero_notti: 7, check_in: '2026-11-21', check_out: '2026-11-28' })
  })

  await prove('B4', async (t) => {
    const { id } = await create()
    const { data } = (await key('PUT', `${PATH}/${id}`, { check_out: '2026-11-22' })).json<{ data: Booking }>()
    const wanted = shown({ id, check_out: '2026-11-22', numero_notti: 1 })
    exactly(t, await key('GET', `${PATH}/${id}`), 200, { data: { ...wanted, ospiti: [] } })
    t.equal(data.numero_notti, 1)
    const fields = booking({ check_out: '2026-12-01', email: 'a@example.com', telefono: '1', idf_gen: 'X' })
    t.equal((await key('PUT', `${PATH}/${id}`, fields)).statusCode, 200, 'it accepts all fields of a creation')
  })

  await prove('B5', async (t) => {
    const { id } = await create()
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await key('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [GUEST] })
    const image = { booking_id: id, guest_idx: 0, side: 'front', base64Image: pixel, ext: 'png' }
    t.equal((await key('POST', '/api/documents/upload', image)).statusCode, 200)
    const letter = { prenotazione_id: id, nome_ospite: 'Anna', lingua: 'IT' }
    t.equal((await key('POST', '/api/lettere-benvenuto/genera', letter)).statusCode, 201)
    await key('POST', `${PATH}/delete-bulk`, { ids: [id] })
    t.same(await app.sql`select id from ospiti where prenotazione_id = ${id}`, [])
    t.equal((await key('GET', `/api/documents/${id}/0/front`)).statusCode, 404)
    exactly(t, await key('GET', `/api/lettere-benvenuto/${id}`), 200, { exists: false, data: null })
  })

  await prove('B6', async (t) => {
    const { id } = await create()
    const save = async (dati: object[]) => await key('POST', '/api/saveOspiti', { prenotazione_id: id, dati })
    await save([GUEST])
    const [before] = (await detail(id)).ospiti
    await save([{ ...GUEST, numero_documento: 'YA9999999' }])
    t.strictSame((await detail(id)).ospiti, [{ ...before!, numero_documento: 'YA9999999' }])
  })

  await prove('G1', async (t) => {
    exactly(t, await key('POST', PATH, Buffer.from('x'), { 'content-type': 'text/plain' }), 415, anError(415, /./))
    t.equal((await app.inject({ url: '/sitemap.xml' })).headers['content-type'], 'application/xml; charset=utf-8')
  })

  await prove('G2', async (t) => {
    exactly(t, await key('POST', PATH, booking()), 201, { data: shown(), status: 201 })
    exactly(t, await key('GET', `${PATH}/2147483647`), 404, anError(404, 'Prenotazione non trovata'))
  })

  await prove('G3', async (t) => {
    const proposta = '2026-11-21'
    for (const [check_in, more] of [
      ['2026-02-30', {}], ['21/11/2026', { proposta }], ['2026-11-21T00:00:00Z', { proposta }]
    ] as const) {
      exactly(t, await key('POST', PATH, booking({ check_in })), 400,
        anError(400, /./, { dettagli: [{ campo: 'check_in', messaggio: /./, ...more }] }))
    }
    t.match(await create(), { check_in: '2026-11-21', created_at: INSTANT, updated_at: INSTANT })
  })

  await prove('G4', async (t) => {
    exactly(t, await key('POST', PATH, booking({ lingua: 'ita' })), 400,
      anError(400, /^Richiesta non valida/, { dettagli: [{ campo: 'lingua', messaggio: /./ }] }))
    for (const lingua of ['IT', 'EN', 'DE', 'FR', 'it']) {
      t.equal((await create({ lingua })).lingua, lingua.toUpperCase())
    }
  })

  await prove('W1', async (t) => {
    t.equal((await key('GET', '/api/v1/prenotazioni?limit=1')).statusCode, 200)
    t.ok(Array.isArray((await key('GET', '/api/prenotazioni')).json()))
    t.equal((await key('POST', '/api/prenotazioni', booking())).statusCode, 405)
    t.match((await key('GET', '/api/config')).json(), { backendUrl: PUBLIC_URL })
  })
}
