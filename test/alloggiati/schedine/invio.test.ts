import t from 'tap'
import type { Schedina } from '#schemas/schedina.ts'
import { addDays } from '#src/lib/time.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { decode } from '#src/alloggiati/codec/codec.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { dump, guestNo, held, invio, production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { build, type TestApp } from '#test/helper.ts'

const send = ({ call }: TestApp, ospiti: readonly object[], more: object = {}) => (
  call('POST', '/api/alloggiati/invio', { ospiti, prenotazione: soggiorno, ...more }))

const LEDGER = ['invii', 'invii_schedine', 'invii_tentativi', 'invii_numerazione', 'sandbox_schedine']
const sizes = async ({ app }: TestApp) =>
  Promise.all(LEDGER.map(async (name) => (await app.sql`select from ${app.sql(name)}`).length))

/** Shared servers, which each test resets. */
const clock = clockAt(`${today}T12:00:00Z`)
const sandbox = await build(t, {}, undefined, { clock })
const police = await standIn(t)
const real = await production(t, police)

t.test('a dry run registers no guest and writes nothing to the ledger', async (t) => {
  const server = await emptied(sandbox)
  const tried = await send(server, [single()], { testMode: true })
  t.strictSame(tried.json(), {
    success: true,
    message: '1 schedina valida: nessuna registrazione, era una prova',
    ricevuta: '',
    dettagli: { schedine_inviate: 1, metodo: 'Test', prenotazione_id: null }
  })
  t.same(await sizes(server), [0, 0, 0, 0, 0])
  t.equal((await send(server, [single()])).json().ricevuta, 'AW-20261121-1', 'the guest can still be sent')
})

t.test('soggiorno supplements prenotazione, which takes precedence', async (t) => {
  const server = await emptied(sandbox)
  const sent = await server.call('POST', '/api/alloggiati/invio', {
    ospiti: [single()], prenotazione: { check_in: today }, soggiorno: { check_in: '2026-11-20', numero_notti: 7 }
  })
  t.equal(sent.statusCode, 200)
  const { data: [{ riga }] } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.match(decode(riga), { record: { data_arrivo: today, permanenza: 7 } })
  t.match(sent.json().avvisi, [{ campo: 'soggiorno.check_in', messaggio: /prenotazione.check_in, che vale/ }])
})

t.test('a Send gives the warnings that the validation gives, with the place of each guest', async (t) => {
  const { call } = await emptied(sandbox)
  const given = [guestNo(1), guestNo(2, { cognome: 'MÜLLER', numero_documento: '12' })]
  const prenotazione = { ...soggiorno, numero_notti: 40 }
  const { warnings } = (await call('POST', '/api/alloggiati/valida', { ospiti: given, prenotazione })).json()
  t.match(warnings, [
    { ospite: 0, campo: 'numero_notti' }, { ospite: 1, campo: 'cognome' }, { ospite: 1, campo: 'numero_documento' }
  ])
  const { id } = await create(call, { ...prenotazione, numero_ospiti: 3, nome_cognome: 'Marco MÃ¼ller' })
  await saveGuests(call, id, [guestNo(3, { arrivo: addDays(today, 1) }), ...given])
  const { warnings: all } = (await call('POST', `/api/v1/prenotazioni/${id}/schedine`)).json()
  t.same(all.map(({ campo }: { campo: string }) => campo), [
    'numero_notti', 'cognome', 'numero_documento', 'arrivo', 'nome_cognome'
  ])
  const ofBooking = all.map((each: { ospite: number, campo: string }) =>
    ['arrivo', 'nome_cognome'].includes(each.campo) ? each : { ...each, ospite: each.ospite + 1 })
  const sends: [url: string, body: object, avvisi: object[]][] = [
    ['/api/alloggiati/invio', { ospiti: given, prenotazione, testMode: true }, warnings],
    [`/api/v1/prenotazioni/${id}/invio`, { testMode: true }, [...ofBooking.slice(3), ...ofBooking.slice(0, 3)]],
    ['/api/alloggiati/invio', { ospiti: given, prenotazione }, warnings]
  ]
  for (const [url, body, avvisi] of sends) t.same((await call('POST', url, body)).json().avvisi, avvisi, url)
})

t.test('a guest\'s own days are checked, sent and recorded, and a list has one day of arrival', async (t) => {
  const { call } = await emptied(sandbox)
  const arrival = addDays(today, -1)
  const prenotazione = { check_in: arrival, numero_notti: 40 }
  const { id } = await create(call, { nome_cognome: 'Marco Provetti', ...prenotazione, numero_ospiti: 2 })
  const late = { arrivo: today, partenza: addDays(today, 2) }
  const mixed = [single(late), guestNo(2)]
  const wanted = { ospite: 1, campo: 'arrivo', messaggio: /arriva il 20\/11\/2026, il primo .* il 21\/11\/2026: / }
  for (const url of ['/api/alloggiati/valida', '/api/alloggiati/invio', '/api/alloggiati/file']) {
    t.match((await call('POST', url, { ospiti: mixed, prenotazione })).json(), { errors: [wanted] }, url)
    const outside = { ospiti: [single({ ...late, partenza: addDays(today, 40) })], prenotazione }
    t.match((await call('POST', url, outside)).json(), { errors: [{ campo: 'partenza' }] }, url)
  }
  const ospiti = [single(late), guestNo(2, { arrivo: today })]
  t.match((await call('POST', '/api/alloggiati/valida', { ospiti, prenotazione })).json(), {
    valid: true, warnings: [{ ospite: 1, campo: 'numero_notti', messaggio: /dal 21\/12\/2026 serve/ }]
  })
  const days = (lines: string[]) => lines.map((line) => {
    const decoded = decode(line)
    return 'record' in decoded && [decoded.record.data_arrivo, decoded.record.permanenza]
  })
  const expected = [[today, 2], [today, 30]]
  const file = await call('POST', '/api/alloggiati/file', { ospiti, prenotazione })
  t.same(days(file.payload.split('\r\n')), expected)
  t.match((await call('POST', '/api/alloggiati/invio', { ospiti, prenotazione })).json(), {
    success: true, dettagli: { prenotazione_id: id }
  })
  const { data } = (await call('GET', '/api/alloggiati/sandbox/schedine')).json<{ data: { riga: string }[] }>()
  t.same(days(data.map(({ riga }) => riga)), expected)
  t.match((await call('GET', '/api/v1/invii')).json(), { data: [{ data_arrivo: today }] })
})

t.test('the database contains no readable guest data: records and replies are encrypted', async (t) => {
  const server = await emptied(real, police)
  const secrets = ['SEGRETONI', 'ZZ9988776']
  police.on.Send = response(rowsReply('Send', [false]).replace('Numero Documento non valido', 'Errato'))
  await server.call(
    'POST',
    '/api/alloggiati/invio',
    invio([single({ cognome: 'SEGRETONI', numero_documento: 'ZZ9988776' })]),
    { 'idempotency-key': 'una' }
  )
  t.equal(police.callsOf('Send').length, 1)
  t.match(police.callsOf('Send')[0]!.body, 'SEGRETONI')
  const everything = await dump(server)
  t.match(everything, 'rifiutata', 'the dump contains the submission')
  for (const secret of secrets) {
    for (const encoding of ['utf8', 'hex', 'base64'] as const) {
      const text = Buffer.from(secret).toString(encoding).replace(/=+$/, '').slice(0, -1)
      t.notOk(everything.toLowerCase().includes(text.toLowerCase()), encoding)
    }
    t.notOk(JSON.stringify(server.logs).includes(secret), 'the log contains no guest data')
  }
})

t.test('for an apartment that the police does not know, each row is refused', async (t) => {
  const server = await emptied(sandbox)
  const refused = await send(server, [single()], { prenotazione: { ...soggiorno, id_appartamento: 7 } })
  t.match(refused.json(), {
    status: 422, codice: 'SCHEDINE_RIFIUTATE', schedine: [{ ospite: 0, esito: 'rifiutata', codice_errore: String }]
  })
})

t.test(
  'acquired guests of a partly acquired list stay acquired, and the others can be corrected and sent alone',
  async (t) => {
    const { app, call } = await emptied(real, police)
    const guests = [guestNo(1), guestNo(2), guestNo(3)]
    police.on.Send = response(rowsReply('Send', [true, false, true]))
    const partial = await call('POST', '/api/alloggiati/invio', invio(guests))
    const good = { esito: 'acquisita', codice_errore: '', messaggio_soap: '', dettaglio: '' }
    const bad = {
      esito: 'rifiutata',
      codice_errore: '12',
      messaggio_soap: 'SCHEDINA_CAMPO_NON_CORRETTO',
      dettaglio: 'Numero Documento non valido'
    }
    t.match(partial.json(), {
      success: false,
      status: 422,
      codice: 'SCHEDINE_RIFIUTATE',
      error: /: ospite 2: SCHEDINA_CAMPO_NON_CORRETTO: Numero Documento non valido$/,
      dettagli: {
        codice_errore: '12',
        messaggio_soap: 'ospite 2: SCHEDINA_CAMPO_NON_CORRETTO: Numero Documento non valido'
      }
    })
    t.strictSame(partial.json().schedine, [{ ospite: 0, ...good }, { ospite: 1, ...bad }, { ospite: 2, ...good }])
    t.same(await app.sql`select esito from invii_schedine order by indice`, [
      { esito: 'acquisita' },
      { esito: 'rifiutata' },
      { esito: 'acquisita' }
    ])
    t.same(await app.sql`select stato from invii`, [{ stato: 'parziale' }])

    delete police.on.Send
    const all = await call('POST', '/api/alloggiati/invio', invio(guests))
    t.match(all.json(), { status: 409, ricevuta: partial.json().ricevuta, ospiti: [0, 2] })
    const rest = await call('POST', '/api/alloggiati/invio', invio([guestNo(2, { numero_documento: 'CA11111AA' })]))
    t.equal(rest.statusCode, 200)
    t.same(police.callsOf('Send').map(({ rows }) => rows.length), [3, 1])
  }
)

t.test('the error names the guest whom the police refused, and not the others excluded with this guest', async (t) => {
  const { call } = await emptied(real, police)
  police.on.Test = response(rowsReply('Test', [true, false]))
  const refused = await call('POST', '/api/alloggiati/invio', invio(family()))
  t.match(refused.json(), {
    status: 422,
    error: /ospite 2: SCHEDINA_CAMPO_NON_CORRETTO/,
    dettagli: { codice_errore: '12', messaggio_soap: /^ospite 2: / },
    schedine: [{ codice_errore: '', dettaglio: /un’altra schedina/ }, { codice_errore: '12' }]
  })
})

const body = (changes: object = {}) => ({ ospiti: [single(changes)], prenotazione: soggiorno })

t.test('a second Send of a guest is refused with the reference of the first', async (t) => {
  const { app, call } = await emptied(sandbox)
  const first = (await call('POST', '/api/alloggiati/invio', body())).json()
  const second = await call('POST', '/api/alloggiati/invio', body())
  t.equal(second.statusCode, 409)
  const { requestId, ...rest } = second.json()
  t.type(requestId, 'string')
  t.strictSame(rest, {
    error:
      `Ospite già inviato, o di esito sconosciuto, con la ricevuta ${first.ricevuta}: ospite 1 (stessa persona). ` +
      'Ciò che la Polizia ha ricevuto può correggerlo solo la Questura; ' +
      'una conferma qui non serve: i dati sono gli stessi',
    status: 409,
    codice: 'SCHEDINE_GIA_INVIATE',
    ricevuta: first.ricevuta,
    ospiti: [0],
    duplicati: [{ ospite: 0, ricevuta: first.ricevuta, stato: 'acquisito', motivo: 'stessa_persona' }]
  })
  t.equal((await app.sql`select from invii`).length, 1, 'the refused submission leaves no trace')
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('a guest who was edited after the Send counts as the same guest', async (t) => {
  const { app, call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', body())
  const edits = [
    { numero_documento: 'CA99999ZZ' },
    { sesso: 'F' },
    { cognome: ' provetti ' },
    { cognome: 'Provettì' },
    { tipo_documento: 'PASOR' },
    { cittadinanza: '100000216' }
  ]
  for (const edit of edits) {
    t.equal((await call('POST', '/api/alloggiati/invio', body(edit))).statusCode, 409, JSON.stringify(edit))
  }
  const longer = { ospiti: [single()], prenotazione: { ...soggiorno, numero_notti: 9 } }
  t.equal((await call('POST', '/api/alloggiati/invio', longer)).statusCode, 409)
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('another guest is sent, and the same guest is sent for other nights', async (t) => {
  const { call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', body())
  const others = [
    { nome: 'MARIO', numero_documento: 'CA00001AA' },
    { data_nascita: '1980-05-16', numero_documento: 'CA00002AA' }
  ]
  for (const other of others) {
    t.equal((await call('POST', '/api/alloggiati/invio', body(other))).statusCode, 200)
  }
  const yesterday = { ospiti: [single()], prenotazione: { check_in: '2026-11-20', numero_notti: 1 } }
  t.equal((await call('POST', '/api/alloggiati/invio', yesterday)).statusCode, 200)
})

/** A guest sent yesterday for three nights, and the same one sent today. */
const OVERLAPS: [title: string, first: Schedina, second: Schedina, motivo: string][] = [
  ['the same guest', {}, {}, 'stessa_persona'],
  ['with another document', {}, { numero_documento: 'CA99999AA' }, 'stessa_persona'],
  ['under another spelling', { cognome: 'MÜLLER' }, { cognome: 'MUELLER' }, 'stessa_persona'],
  ['with the same document', {}, { cognome: 'ALTRI' }, 'stesso_documento']
]

t.test('a guest without a booking is not sent again for nights that overlap, unless a person confirms', async (t) => {
  const check_in = addDays(today, -1)
  for (const [title, first, second, motivo] of OVERLAPS) {
    const { call, app } = await emptied(sandbox)
    const before = { ospiti: [single(first)], prenotazione: { check_in, numero_notti: 3 } }
    const { ricevuta } = (await call('POST', '/api/alloggiati/invio', before)).json()
    const again = { ospiti: [guestNo(2), single(second)], prenotazione: { check_in: today, numero_notti: 1 } }
    t.match((await call('POST', '/api/alloggiati/invio', again)).json(), {
      status: 409,
      codice: 'SCHEDINE_GIA_INVIATE',
      error: /con l’arrivo del 20\/11\/2026.*ripetere con confermo_diverso e motivo/,
      duplicati: [{ ospite: 1, ricevuta, motivo }]
    }, title)
    const confirmed = { ...again, confermo_diverso: true, motivo: 'È tornato il giorno dopo' }
    t.equal((await call('POST', '/api/alloggiati/invio', confirmed)).statusCode, 200, title)
    t.equal((await call('POST', '/api/alloggiati/invio', confirmed)).statusCode, 409, 'a confirmation is valid once')
    t.equal((await app.sql`select from sandbox_schedine`).length, 3, title)
  }
})

t.test('a list with one guest sent before is refused as a whole, and nothing is sent', async (t) => {
  const { app, call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', { ospiti: [guestNo(2)], prenotazione: soggiorno })
  const refused = await call('POST', '/api/alloggiati/invio', {
    ospiti: [guestNo(1), guestNo(2), guestNo(3)],
    prenotazione: soggiorno
  })
  t.match(refused.json(), { status: 409, ospiti: [1] })
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

/** Two spellings of one person. */
const SPELLINGS: [Schedina, Schedina][] = [
  [{ cognome: 'ROSSI', nome: 'NICCOLÒ' }, { cognome: 'ROSSI', nome: "NICCOLO'" }],
  [{ cognome: "D'ANGELO" }, { cognome: 'D ANGELO' }],
  [{ cognome: 'DE LUCA', nome: 'ANNA-MARIA' }, { cognome: 'DELUCA', nome: 'ANNAMARIA' }],
  [{ cognome: 'MÜLLER' }, { cognome: 'MUELLER' }],
  [{ cognome: 'LI', nome: 'WEI' }, { cognome: 'WEI', nome: 'LI' }]
]

t.test('the same person under another spelling is refused, even with another document', async (t) => {
  const { app, call } = await emptied(sandbox)
  for (const [n, [one, other]] of SPELLINGS.entries()) {
    const first = (await call('POST', '/api/alloggiati/invio', { ospiti: [guestNo(n, one)], prenotazione: soggiorno }))
    t.equal(first.statusCode, 200)
    const again = { ospiti: [guestNo(n + 100, other)], prenotazione: soggiorno }
    t.match((await call('POST', '/api/alloggiati/invio', again)).json(), {
      status: 409,
      codice: 'SCHEDINE_GIA_INVIATE',
      duplicati: [{ ospite: 0, ricevuta: first.json().ricevuta, motivo: 'stessa_persona' }]
    }, JSON.stringify(other))
  }
  t.equal((await app.sql`select from sandbox_schedine`).length, SPELLINGS.length)
})

t.test('a document sent before is refused with any name and any spelling of its number', async (t) => {
  const { app, call } = await emptied(sandbox)
  const first = (await call('POST', '/api/alloggiati/invio', body({ numero_documento: 'CA-00007.AA' }))).json()
  const other = body({ cognome: 'CORRETTI', data_nascita: '1981-05-15', numero_documento: 'ca00007aa' })
  t.match((await call('POST', '/api/alloggiati/invio', other)).json(), {
    status: 409,
    codice: 'SCHEDINE_GIA_INVIATE',
    duplicati: [{ ospite: 0, ricevuta: first.ricevuta, stato: 'acquisito', motivo: 'stesso_documento' }]
  })
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('two guests of one list are refused when they have one name in two spellings, or one document', async (t) => {
  const { app, call } = await emptied(sandbox)
  const lists = [
    [[guestNo(1, { cognome: 'LI', nome: 'WEI' }), guestNo(2, { cognome: 'WEI', nome: 'LI' })], 'stessa_persona'],
    [[guestNo(1), guestNo(2, { numero_documento: 'CA 10001 AA' })], 'stesso_documento']
  ] as const
  for (const [ospiti, motivo] of lists) {
    const refused = (await call('POST', '/api/alloggiati/invio', { ospiti, prenotazione: soggiorno })).json()
    const duplicati = [{ ospite: 1, ricevuta: null, stato: null, motivo, altro_ospite: 0 }]
    t.match(refused, { status: 409, codice: 'SCHEDINE_GIA_INVIATE', ospiti: [1] })
    t.strictSame(refused.duplicati, duplicati)
    t.equal(refused.ricevuta, undefined)
  }
  t.same(await app.sql`select from invii`, [])
  const confirmed = { ospiti: lists[0][0], prenotazione: soggiorno, ...CONFIRMATION }
  t.equal((await call('POST', '/api/alloggiati/invio', confirmed)).statusCode, 200)
})

const CONFIRMATION = { confermo_diverso: true, motivo: 'Due ospiti diversi, passaporti controllati' }

t.test('no confirmation sends a guest twice in one list, with first name and surname swapped', async (t) => {
  const { app, call } = await emptied(sandbox)
  const confirmation = { confermo_diverso: true, motivo: 'Due persone con lo stesso nome' }
  const { nome: cognome, cognome: nome } = single()
  const ospiti = [single(), single({ cognome, nome })]
  const refused = (await call('POST', '/api/alloggiati/invio', { ...body(), ospiti, ...confirmation })).json()
  t.match(refused, { status: 409, codice: 'SCHEDINE_GIA_INVIATE', error: /una conferma qui non serve/ })
  t.equal((await app.sql`select from sandbox_schedine`).length, 0)
})

t.test('a confirmation with a reason is recorded, audited, and valid once', async (t) => {
  const { app, call } = await emptied(sandbox)
  const first = (await call('POST', '/api/alloggiati/invio', body({ cognome: 'LI', nome: 'WEI' }))).json()
  const other = body({ cognome: 'WEI', nome: 'LI', numero_documento: 'CA00001AA' })
  t.equal((await call('POST', '/api/alloggiati/invio', other)).statusCode, 409)
  const sent = (await call('POST', '/api/alloggiati/invio', { ...other, ...CONFIRMATION })).json()
  t.equal(sent.success, true)
  const precedenti = [first.ricevuta]
  t.same(await app.sql`select chi, motivo, array_to_json(precedenti) as precedenti from invii_conferme`,
    [{ chi: 'server', motivo: CONFIRMATION.motivo, precedenti }])
  t.same(await app.sql`select confermata from invii_schedine order by invio_id`,
    [{ confermata: false }, { confermata: true }])
  const [noted] = await app.sql`select details from audit_log where action = 'invio' order by id desc limit 1`
  t.match(noted!.details, { confermato: true, precedenti })
  t.notMatch(JSON.stringify(noted), /passaporti/, 'the reason may contain a name, so it is not audited')

  t.match((await call('POST', '/api/alloggiati/invio', { ...other, ...CONFIRMATION })).json(),
    { status: 409, ospiti: [0] }, 'a repeated confirmation sends no guest twice')
  t.equal((await app.sql`select from sandbox_schedine`).length, 2)
})

t.test('after a confirmation, a guest is sent with a document that was sent for another person', async (t) => {
  const { app, call } = await emptied(sandbox)
  t.equal((await call('POST', '/api/alloggiati/invio', body())).statusCode, 200)
  const other = body({ cognome: 'CORRETTI', nome: 'PIA', data_nascita: '1981-05-15' })
  t.match((await call('POST', '/api/alloggiati/invio', other)).json(), { duplicati: [{ motivo: 'stesso_documento' }] })
  t.equal((await call('POST', '/api/alloggiati/invio', { ...other, ...CONFIRMATION })).statusCode, 200)
  t.equal((await app.sql`select from sandbox_schedine`).length, 2)
})

t.test('no confirmation sends the same person again, in any state of the first Send', async (t) => {
  const { app, call } = await emptied(sandbox)
  const send = (changes: object) => call('POST', '/api/alloggiati/invio', { ...body(changes), ...CONFIRMATION })
  t.equal((await send({})).statusCode, 200, 'there is no conflict yet')
  const leader = single({ tipo_alloggiato: '17', nome: 'CAPO', numero_documento: 'CA00007AA' })
  const without = { tipo_documento: '', numero_documento: '', luogo_rilascio: '' }
  const family = { ospiti: [leader, single({ tipo_alloggiato: '19', nome: 'UGO', ...without })] }
  t.equal((await call('POST', '/api/alloggiati/invio', { ...family, prenotazione: soggiorno })).statusCode, 200)
  const rows = (await app.sql`select from sandbox_schedine`).length
  for (const outcome of ['acquisita', 'sconosciuta', 'in_corso']) {
    await app.sql`update invii_schedine set esito = ${outcome}`
    t.match((await send({})).json(), { status: 409, error: /una conferma qui non serve|in corso/ }, outcome)
    t.equal((await send({ cognome: single().nome, nome: single().cognome })).statusCode, 409, 'the same document')
    const again = { ...family, prenotazione: soggiorno, ...CONFIRMATION }
    t.match((await call('POST', '/api/alloggiati/invio', again)).json(), { status: 409, ospiti: [0, 1] })
  }
  t.equal((await app.sql`select from sandbox_schedine`).length, rows)
})

t.test('a confirmation without a reason, or the reverse, returns a 400 that names the missing field', async (t) => {
  const { call } = await emptied(sandbox)
  const bad: [object, string][] = [
    [{ confermo_diverso: true }, 'motivo'],
    [{ motivo: CONFIRMATION.motivo }, 'confermo_diverso'],
    [{ ...CONFIRMATION, confermo_diverso: false }, 'confermo_diverso'],
    [{ ...CONFIRMATION, motivo: 'corto' }, 'motivo']
  ]
  for (const [fields, campo] of bad) {
    const refused = await call('POST', '/api/alloggiati/invio', { ...body(), ...fields })
    t.match(refused.json(), { status: 400, dettagli: [{ campo }] }, JSON.stringify(fields))
  }
})

t.test('a guest whose Send is in flight cannot be sent again', async (t) => {
  const { call } = await emptied(real, police)
  const reply = held()
  police.on.Send = reply.behaviour
  const first = call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await reply.arrived
  const beside = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  t.match(beside.json(), {
    status: 409,
    codice: 'INVIO_IN_CORSO',
    stato: 'in_invio',
    ospiti: [0],
    duplicati: [{ ospite: 0, stato: 'in_invio', motivo: 'stessa_persona' }]
  })
  reply.release(response(rowsReply('Send', [true])))
  t.equal((await first).json().ricevuta, beside.json().ricevuta)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a guest who was sent to the sandbox can still be sent to the police', async (t) => {
  const before = await build(t, {
    ALLOGGIATI_MODE: 'sandbox',
    ALLOGGIATI_UTENTE: 'RM000001',
    ALLOGGIATI_PASSWORD: 'parola-di-prova',
    ALLOGGIATI_WSKEY: 'chiave-di-prova'
  })
  t.equal((await before.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  police.forget()
  const after = await production(t, police, { DATABASE_URL: before.url, DATA_DIR: before.dataDir })
  t.equal((await after.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  t.equal(police.callsOf('Send').length, 1)
})
