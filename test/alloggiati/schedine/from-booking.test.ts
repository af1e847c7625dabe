import t from 'tap'
import type { Unit } from '#schemas/unit.ts'
import { decode } from '#src/alloggiati/codec/codec.ts'
import { guestTypes } from '#src/alloggiati/schedine/from-booking.ts'
import { addDays, italianDay } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { family, member, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'

/** Creates a booking with these guests, whose unknown fields may be null. */
async function booked ({ call }: TestApp, guests: readonly object[], changes: object = {}): Promise<number> {
  const { id } = await create(call, { check_in: today, numero_ospiti: Math.max(1, guests.length), ...changes })
  const saved = await saveGuests(call, id, [...guests])
  if (saved.statusCode !== 200) throw new Error(saved.body)
  return id
}

const untyped = (guest: object) => ({ ...guest, tipo_alloggiato: null })
const records = async ({ call }: TestApp, id: number, body?: object) =>
  call('POST', `/api/v1/prenotazioni/${id}/schedine`, body)
const send = async ({ call }: TestApp, id: number, body?: object, headers?: Record<string, string>) =>
  call('POST', `/api/v1/prenotazioni/${id}/invio`, body, headers)

/** Shared servers, which each test resets. */
const clock = clockAt(`${today}T12:00:00Z`)
const sandbox = await build(t, {}, undefined, { clock })
const police = await standIn(t)
const real = await production(t, police)

t.test('without stored types a single guest is 16 and several are a family, and stored types are kept', async (t) => {
  const cases: [stored: (string | null)[], expected: string[]][] = [
    [[], []],
    [[null], ['16']],
    [[null, null, null], ['17', '19', '19']],
    [['17', null], ['17', '19']],
    [['18', null, null], ['18', '20', '20']],
    [[null, '20', null], ['18', '20', '20']],
    [[null, '19'], ['17', '19']],
    [['16', '16'], ['16', '16']],
    [[null, '16'], ['16', '16']],
    [['16', null], ['16', '16']],
    [['17', null, '18', null], ['17', '19', '18', '20']],
    [['17', null, '16', null, null], ['17', '19', '16', '17', '19']],
    [['20', null], ['20', '16']]
  ]
  for (const [stored, expected] of cases) t.same(guestTypes(stored), expected, JSON.stringify(stored))
})

t.test('the schedine of a booking are its saved guests, with the stay and the results of the rules', async (t) => {
  const server = await emptied(sandbox)
  const { luogo_rilascio, ...rest } = single()
  const id = await booked(server, [untyped({ ...rest, luogo_rilascio: null })])
  const made = await records(server, id)
  t.equal(made.statusCode, 200)
  t.strictSame(made.json(), {
    schedine: [{ ...rest, tipo_alloggiato: '16', luogo_rilascio: '' }],
    soggiorno: { id, check_in: today, numero_notti: 3 },
    valid: false,
    errors: [{ ospite: 0, campo: 'luogo_rilascio', messaggio: made.json().errors[0].messaggio }],
    warnings: []
  })
  t.same(await server.app.sql`select from invii`, [], 'no guest is sent')
})

t.test('the schedina of a member omits the stored document', async (t) => {
  const server = await emptied(sandbox)
  const id = await booked(server, [
    untyped(single()),
    untyped(member('19', 'ANNA', { numero_documento: 'CA11111AA', tipo_documento: 'IDELE' }))
  ])
  const { schedine, valid, warnings } = (await records(server, id)).json()
  t.match(schedine, [
    { tipo_alloggiato: '17', numero_documento: 'CA00000AA' },
    { tipo_alloggiato: '19', numero_documento: '', tipo_documento: '' }
  ])
  t.equal(valid, true)
  t.same(warnings, [])
})

t.test('a booking is sent from its stored data, and the submission refers to it', async (t) => {
  const server = await emptied(sandbox)
  const id = await booked(server, [untyped(single()), untyped(member('19', 'ANNA'))])
  const sent = await send(server, id)
  t.strictSame(sent.json(), {
    success: true,
    message: '2 schedine acquisite',
    ricevuta: 'AW-20261121-1',
    dettagli: { schedine_inviate: 2, metodo: 'Send', prenotazione_id: id }
  })
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.match(
    data.map(({ riga }: { riga: string }) => decode(riga)),
    [
      { record: { tipo_alloggiato: '17', cognome: 'PROVETTI', permanenza: 3, data_arrivo: today } },
      { record: { tipo_alloggiato: '19', nome: 'ANNA' } }
    ]
  )
  t.match((await send(server, id)).json(), { status: 409, ricevuta: 'AW-20261121-1' }, 'the booking is not sent twice')
})

/** The sandbox gives the id 0 to the first apartment. */
async function withApartment (): Promise<TestApp> {
  const server = await emptied(sandbox)
  const authorization = `Bearer ${await server.token({ service: true })}`
  const apartment = {
    descrizione: 'Casa al lago',
    comune_codice: '412058091',
    indirizzo: 'Via dei Prati, 8',
    proprietario: 'Ada Provetti'
  }
  const made = await server.call('POST', '/api/v1/appartamenti', apartment, { authorization })
  t.equal(made.statusCode, 201)
  return server
}

t.test('with an apartment the lines have 174 characters', async (t) => {
  const server = await withApartment()
  const id = await booked(server, [untyped(single())])
  t.match((await records(server, id, { id_appartamento: 0 })).json(), {
    valid: true,
    soggiorno: { id_appartamento: 0 }
  })
  t.match((await send(server, id, { id_appartamento: 0 })).json(), {
    success: true,
    dettagli: { metodo: 'GestioneAppartamenti_FileUnico_Send', prenotazione_id: id }
  })
})

t.test('the unit of a booking gives its apartment to the Send and to the list of the day', async (t) => {
  const server = await withApartment()
  const unit = { nome: 'Casa al lago', tipo: 'appartamento', ospiti_massimi: 4, id_appartamento: 0 }
  const { data } = (await server.call('POST', '/api/v1/unita', unit)).json<{ data: Unit }>()
  const id = await booked(server, [untyped(single())])
  await server.call('PUT', `/api/v1/prenotazioni/${id}`, { unita_id: data.id })
  t.match((await records(server, id)).json(), { valid: true, soggiorno: { id_appartamento: 0 } })
  t.match((await records(server, id, { id_appartamento: 7 })).json(), { soggiorno: { id_appartamento: 7 } })
  t.match((await server.call('POST', '/api/v1/invii/giornata')).json(), { success: true, totali: { acquisita: 1 } })
  t.match((await server.call('GET', '/api/v1/invii')).json().data,
    [{ prenotazione_id: id, metodo: 'GestioneAppartamenti_FileUnico_Send' }])
})

t.test('a booking without guests has an error, and is not sent', async (t) => {
  const server = await emptied(sandbox)
  const id = await booked(server, [])
  t.match((await records(server, id)).json(), { schedine: [], valid: false, errors: [{ ospite: 0, campo: 'ospiti' }] })
  t.match((await send(server, id)).json(), { status: 422, codice: 'VALIDAZIONE', errors: [{ campo: 'ospiti' }] })
})

const CONFIRMATION = { confermo_diverso: true, motivo: 'Un ospite in più, concordato alla reception' }

t.test('after a correction, a guest is sent as another one only after a confirmation', async (t) => {
  const server = await emptied(sandbox)
  const id = await booked(server, [untyped(single())])
  const { ricevuta } = (await send(server, id)).json()
  const save = async (changes: object) =>
    server.call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [untyped(single(changes))] })

  await save({ data_nascita: '1980-05-16' })
  t.match((await send(server, id)).json(), { status: 409, duplicati: [{ motivo: 'stesso_documento', ricevuta }] })
  await save({ cognome: 'CORRETTI', data_nascita: '1980-05-16', numero_documento: 'CA00001AA' })
  const refused = (await send(server, id)).json()
  t.match(refused, {
    status: 409,
    codice: 'OSPITI_OLTRE_LA_PRENOTAZIONE',
    error: /solo la Questura.*confermo_diverso/,
    prenotazione_id: id,
    numero_ospiti: 1
  })
  t.strictSame(refused.gia_inviati, [{
    ricevuta,
    stato: 'acquisito',
    ospite: {
      tipo_alloggiato: '16',
      cognome: 'P.',
      nome: 'M.',
      anno_nascita: 1980,
      cittadinanza: '100000100',
      tipo_documento: 'IDELE',
      numero_documento: '…0AA'
    }
  }])
  t.equal((await server.app.sql`select from sandbox_schedine`).length, 1)

  const confirmed = (await send(server, id, CONFIRMATION)).json()
  t.equal(confirmed.success, true)
  t.match((await send(server, id, CONFIRMATION)).json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' }, 'once')
  const { data } = (await server.call('GET', '/api/v1/invii/2')).json()
  t.match(data, { ricevuta: confirmed.ricevuta, conferma: { chi: 'server', motivo: CONFIRMATION.motivo } })
  t.same(data.conferma.precedenti, [ricevuta])

  const verify = async () => (await administrator(server).admin('GET', '/api/v1/invii/verifica')).json<object>()
  t.match(await verify(), { integra: true })
  await server.app.sql.unsafe(
    'alter table invii_conferme disable trigger user; delete from invii_conferme; ' +
      'alter table invii_conferme enable trigger user'
  )
  t.match(await verify(), { integra: false, prima_riga_errata: { invio: 2, motivo: 'manca la conferma' } },
    'the removal of the confirmation is detected, although no row was confirmed')
})

t.test('a booking that was moved after its Send is sent again once, after a confirmation', async (t) => {
  const yesterday = addDays(today, -1)
  for (const [before, after] of [[today, yesterday], [yesterday, today]] as const) {
    const server = await emptied(sandbox)
    const id = await booked(server, [untyped(single())], { numero_ospiti: 3, check_in: before })
    const { ricevuta } = (await send(server, id)).json()
    await server.call('PUT', `/api/v1/prenotazioni/${id}`, { check_in: after, numero_notti: 3 })
    const refused = (await send(server, id)).json()
    t.match(refused, {
      status: 409,
      codice: 'SCHEDINE_GIA_INVIATE',
      error: /Per comunicare anche il nuovo arrivo, ripetere con confermo/,
      duplicati: [{ ospite: 0, ricevuta, motivo: 'stessa_persona' }]
    })
    t.ok(refused.error.includes(`già inviato con l’arrivo del ${italianDay(before)},`), refused.error)
    t.equal((await send(server, id, CONFIRMATION)).statusCode, 200)
    t.equal((await send(server, id, CONFIRMATION)).statusCode, 409)
    t.equal((await server.app.sql`select from sandbox_schedine`).length, 2)
  }
})

t.test('the submission records and shows that the questura was asked for a correction', async (t) => {
  const server = await emptied(sandbox)
  const { ricevuta } = (await send(server, await booked(server, [untyped(single())]))).json()
  const ask = (id: number, body: object) => server.call('POST', `/api/v1/invii/${id}/correzione`, body)
  const motivo = 'Data di nascita errata, chiesta la correzione via PEC'
  t.match((await ask(1, { motivo, riga: 1 })).json(), { status: 400, dettagli: [{ campo: 'riga' }] })
  t.match((await ask(4711, { motivo })).json(), { status: 404, codice: 'INVIO_NON_TROVATO' })
  const asked = await ask(1, { motivo, riga: 0, protocollo: 'PEC 2026/4711' })
  t.equal(asked.statusCode, 201)
  t.match(asked.json().data, {
    ricevuta,
    stato: 'acquisito',
    conferma: null,
    correzioni: [{ riga: 0, chi: 'server', motivo, protocollo: 'PEC 2026/4711' }]
  })
  const [noted] = await server.app.sql`select action, object from audit_log order by id desc limit 1`
  t.same(noted, { action: 'correzione', object: `invio:${ricevuta}` })
})

const save = async ({ call }: TestApp, prenotazione_id: number, dati: object[]) =>
  call('POST', '/api/saveOspiti', { prenotazione_id, dati })
const MISSING = { solo_mancanti: true }

t.test('a request that was refused before any submission can be retried with the same key after a fix', async (t) => {
  const server = await emptied(sandbox)
  const wrong = untyped(single({ sesso: null }))
  const id = await booked(server, [wrong], { numero_ospiti: 2 })
  const ask = async (body: object, of = id) =>
    (await send(server, of, body, { 'idempotency-key': `${of} ${JSON.stringify(body)}` })).json()
  for (const body of [{}, { testMode: true }]) t.match(await ask(body), { status: 422, codice: 'VALIDAZIONE' })
  await save(server, id, [untyped(single())])
  for (const body of [{ testMode: true }, {}]) {
    const done = await ask(body)
    t.match(done, { success: true })
    t.same(await ask(body), done, 'the result is stored')
  }
  t.match(await ask(MISSING), { status: 409, codice: 'NULLA_DA_INVIARE' })
  await save(server, id, [untyped(single()), untyped(guestNo(2))])
  t.match(await ask(MISSING), { success: true })
  const other = await booked(server, [untyped(single())])
  t.match(await ask({}, other), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' })
  await save(server, other, [guestNo(3)])
  t.match(await ask({}, other), { success: true })

  const body = { ospiti: [wrong], prenotazione: { check_in: today, numero_notti: 3 } }
  const given = async () => server.call('POST', '/api/alloggiati/invio', body, { 'idempotency-key': 'dati' })
  const refused = await given()
  t.match(refused.json(), { status: 422, codice: 'VALIDAZIONE' })
  t.equal((await given()).body, refused.body, 'guests in the body cannot be corrected')
})

t.test('a late member of a family is sent as a single guest with the stored document, with a warning', async (t) => {
  const server = await emptied(sandbox)
  const family = [untyped(single()), untyped(member('19', 'ANNA'))]
  const id = await booked(server, family, { numero_ospiti: 3 })
  const { ricevuta, avvisi } = (await send(server, id)).json()
  t.match(avvisi, [{ ospite: 0, messaggio: /^2 ospiti su 3 .*: l’altro va inviato entro 22\/11\/2026/ }])
  await save(server, id, [...family, untyped(member('19', 'UGO'))])
  t.match((await send(server, id)).json(), { status: 409, ricevuta, ospiti: [0, 1], error: /solo_mancanti/ })
  const without = (await send(server, id, MISSING)).json()
  t.match(without, { status: 422, codice: 'VALIDAZIONE', errors: [{ ospite: 2, campo: 'tipo_documento' }] })
  t.match(without.errors[0].messaggio, /ospite singolo \(16\): il capo è già stato inviato: inserire il documento/)

  const { tipo_documento, luogo_rilascio } = single()
  const document = { tipo_documento, luogo_rilascio, numero_documento: 'CA00001AA' }
  await save(server, id, [...family, untyped(member('19', 'UGO', document))])
  const sent = (await send(server, id, MISSING)).json()
  t.match(sent, {
    success: true,
    dettagli: { schedine_inviate: 1 },
    avvisi: [{ ospite: 2, campo: 'tipo_alloggiato', messaggio: /ospite singolo.*il capo/ }]
  })
  t.same(await server.app.sql`select indice, capo from invii_schedine where invio_id = 2`, [{ indice: 2, capo: 2 }])
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.match(decode(data[2].riga), { record: { tipo_alloggiato: '16', nome: 'UGO', num_doc: 'CA00001AA' } })

  const nothing = (await send(server, id, MISSING)).json()
  t.match(nothing, { status: 409, codice: 'NULLA_DA_INVIARE', ricevute: [ricevuta, sent.ricevuta] })
})

t.test('a guest who was corrected after the Send is not sent as a missing guest without a confirmation', async (t) => {
  const server = await emptied(sandbox)
  const leader = untyped(single())
  const id = await booked(server, [leader, untyped(member('19', 'ANNA'))], { numero_ospiti: 3 })
  const { ricevuta } = (await send(server, id)).json()
  t.match((await send(server, id, MISSING)).json(), {
    codice: 'NULLA_DA_INVIARE', error: /tutti gli ospiti salvati.*; 1 altro ospite non è ancora salvato$/
  })
  const { tipo_documento, luogo_rilascio } = single()
  const document = { tipo_documento, luogo_rilascio, numero_documento: 'CA00001AA' }
  await save(server, id, [leader, untyped(member('19', 'AMNA', document))])
  const refused = (await send(server, id, MISSING)).json()
  t.match(refused, { status: 409, codice: 'OSPITI_CAMBIATI', error: /correzione.*solo la Questura.*confermo_diverso/ })
  t.match(refused.gia_inviati, [{ ricevuta, ospite: { nome: 'A.' } }])
  t.equal(refused.gia_inviati.length, 1)
  t.equal((await server.app.sql`select from sandbox_schedine`).length, 2)
  t.equal((await send(server, id, { ...MISSING, ...CONFIRMATION })).statusCode, 200)
})

t.test('a leader whose members were sent becomes a single guest, and an unsent family is sent whole', async (t) => {
  const server = await emptied(sandbox)
  const alone = guestNo(1)
  const id = await booked(server, [alone], { numero_ospiti: 4 })
  await send(server, id)
  const others = [guestNo(2, { tipo_alloggiato: '17' }), member('19', 'EVA')]
  await save(server, id, [single({ tipo_alloggiato: '17' }), { ...alone, tipo_alloggiato: '19' }, ...others])
  const sent = (await send(server, id, MISSING)).json()
  t.match(sent.avvisi, [{ ospite: 0, messaggio: /ospite singolo.*membri/ }])
  t.equal(sent.avvisi.length, 1)
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  const types = data.map(({ riga }: { riga: string }) => riga.slice(0, 2))
  t.same(types, ['16', '16', '17', '19'])
})

t.test('guests whom the police refused are still to be sent, and named by their place in the booking', async (t) => {
  const server = await emptied(real, police)
  const guests = [guestNo(1), guestNo(2), guestNo(3)]
  const id = await booked(server, guests, { check_in: testClock().today() })
  police.on.Send = response(rowsReply('Send', [true, false, false]))
  t.equal((await send(server, id)).statusCode, 422)
  police.on.Send = response(rowsReply('Send', [true, false]))
  const rest = (await send(server, id, MISSING)).json()
  t.match(rest, { status: 422, schedine: [{ ospite: 1, esito: 'acquisita' }, { ospite: 2, esito: 'rifiutata' }] })
  t.same(police.callsOf('Send').map(({ rows }) => rows.length), [3, 2])
})

t.test('a stay longer than 30 nights is sent again only from the days that the law prescribes', async (t) => {
  const server = await emptied(sandbox)
  clock.set('2026-10-22T12:00:00Z')
  t.teardown(() => clock.set(`${today}T12:00:00Z`))
  const id = await booked(server, [untyped(single())], { check_in: '2026-10-22', numero_notti: 40 })
  t.equal((await send(server, id)).statusCode, 200)
  clock.set(`${today}T12:00:00Z`)
  for (const call of [records, send]) {
    const refused = (await call(server, id, { dal: '2026-11-20' })).json()
    const fault = { campo: 'dal', messaggio: 'può essere soltanto 21/11/2026', proposta: '2026-11-21' }
    t.match(refused, { status: 400, dettagli: [fault] })
  }
  // A second Send without the day is refused, and the error names the day.
  t.match((await send(server, id)).json(), {
    status: 400, dettagli: [{ campo: 'dal', messaggio: /22\/10\/2026 .*indicare "dal": "2026-11-21"$/ }]
  })
  t.match((await records(server, id, { dal: today })).json().soggiorno, { check_in: today, numero_notti: 10 })
  t.equal((await send(server, id, { dal: today })).statusCode, 200)
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.match(data.map(({ riga }: { riga: string }) => decode(riga)), [
    { record: { data_arrivo: '2026-10-22', permanenza: 30 } }, { record: { data_arrivo: today, permanenza: 10 } }
  ])
})

const FILE = '/api/alloggiati/file'
t.test(
  'the file contains exactly the rows that would be sent, with CRLF between them and not at the end',
  async (t) => {
    const server = await emptied(sandbox)
    const body = { ospiti: family({ cognome: "D'Énrico-Prova" }), prenotazione: soggiorno }
    const file = await server.call('POST', FILE, body)
    t.equal(file.statusCode, 200)
    t.equal(file.headers['content-type'], 'text/plain; charset=utf-8')
    t.equal(file.headers['content-disposition'], 'attachment; filename=schedine_2026-11-21.txt')
    t.equal(file.rawPayload.length, 168 + 2 + 168, 'no byte order mark')
    await server.call('POST', '/api/alloggiati/invio', body)
    const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
    t.equal(file.payload, data.map(({ riga }: { riga: string }) => riga).join('\r\n'))
  }
)

t.test('a list with errors gives no file, but a 422 as for a submission', async (t) => {
  const { call } = await emptied(sandbox)
  const body = { ospiti: [single({ sesso: 'X' })], prenotazione: soggiorno }
  const [file, sent] = [await call('POST', FILE, body), await call('POST', '/api/alloggiati/invio', body)]
  t.equal(file.statusCode, 422)
  const { requestId: one, ...refused } = file.json()
  const { requestId: other, ...expected } = sent.json()
  t.not(one, other)
  t.strictSame(refused, expected)
})

t.test('a file registers no guest, calls no service, and is created even while the service is down', async (t) => {
  const { app, call } = await emptied(real, police)
  await police.stop()
  const file = await call('POST', FILE, {
    ospiti: [guestNo(1)],
    prenotazione: { check_in: testClock().today(), numero_notti: 1 }
  })
  await police.start()
  t.equal(file.statusCode, 200)
  t.same(police.startedCalls, [])
  for (const table of ['invii', 'invii_schedine', 'invii_numerazione']) {
    t.equal((await app.sql`select from ${app.sql(table)}`).length, 0, table)
  }
})

const book = async ({ call }: TestApp, nome_cognome: string, check_in = today) =>
  (await create(call, { nome_cognome, check_in })).id

const tieOf = async ({ call }: TestApp, ospiti: object[], prenotazione: object = soggiorno): Promise<unknown> => (
  (await call('POST', '/api/alloggiati/invio', { ospiti, prenotazione })).json().dettagli.prenotazione_id)

t.test('a submission belongs to the booking that it names', async (t) => {
  const server = await emptied(sandbox)
  await book(server, 'Marco Provetti')
  const id = await book(server, 'Anna Altrove')
  t.equal(await tieOf(server, [single()], { ...soggiorno, id }), id)
  t.same(await server.app.sql`select prenotazione_id from invii`, [{ prenotazione_id: id }])
})

t.test('a booking that does not exist is answered with a 400, and nothing is sent', async (t) => {
  const server = await emptied(sandbox)
  const refused = await server.call('POST', '/api/alloggiati/invio', {
    ospiti: [single()],
    prenotazione: { ...soggiorno, id: 4711 }
  })
  t.equal(refused.statusCode, 400)
  t.match(refused.json().dettagli, [{ campo: 'prenotazione.id' }])
  t.same(await server.app.sql`select id from invii`, [])
  t.same(await server.app.sql`select id from sandbox_schedine`, [])
})

t.test(
  'a submission that names no booking belongs to the one with its main guest and arrival, in any order of names',
  async (t) => {
    const server = await emptied(sandbox)
    await book(server, 'Marco Provetti', '2026-11-20')
    await book(server, 'Marco Provettini')
    const first = await book(server, '  marco   provettì ')
    const second = await book(server, 'Esempi, Lucia'.replace(',', ''))
    t.equal(await tieOf(server, [single()]), first)
    const couple = [guestNo(1, { cognome: 'Esempi', nome: 'Lucia' }), guestNo(2, { nome: 'ALTRO' })]
    t.equal(await tieOf(server, couple), second)
  }
)

t.test('a submission belongs to no booking when two match, or none', async (t) => {
  const server = await emptied(sandbox)
  await book(server, 'Marco Provetti')
  await book(server, 'Provetti Marco')
  t.equal(await tieOf(server, [single()]), null)
  t.equal(await tieOf(server, [guestNo(1, { nome: 'NESSUNO' })]), null)
})

t.test(
  'a booking whose submission is in progress or unknown cannot be deleted. Later it can, and the ledger stays',
  async (t) => {
    const server = await emptied(real, police)
    const { app, call } = server
    const day = testClock().today()
    const [going, unknown, free] = [
      await book(server, 'A B', day), await book(server, 'C D', day), await book(server, 'E F', day)
    ]
    const stay = (id: number) => ({ prenotazione: { check_in: day, numero_notti: 3, id } })

    police.on.Send = (socket) => socket.resetAndDestroy()
    await call('POST', '/api/alloggiati/invio', invio([guestNo(2)], stay(unknown)))
    const reply = held()
    police.on.Send = reply.behaviour
    const sending = call('POST', '/api/alloggiati/invio', invio([guestNo(1)], stay(going)))
    await reply.arrived

    for (const id of [going, unknown]) {
      const refused = await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [free, id] })
      t.match(refused.json(), { status: 409, codice: 'INVIO_IN_CORSO' })
    }
    t.equal((await app.sql`select from prenotazioni`).length, 3, 'nothing was deleted')

    reply.release(response(rowsReply('Send', [true])))
    t.equal((await sending).statusCode, 200)
    const deleted = await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [free, going] })
    t.strictSame(deleted.json().deleted, [going, free])
    t.same(await app.sql`select stato, prenotazione_id from invii order by id`, [
      { stato: 'sconosciuto', prenotazione_id: unknown },
      { stato: 'acquisito', prenotazione_id: going }
    ])
    t.equal((await app.sql`select from invii_schedine`).length, 2)
  }
)
