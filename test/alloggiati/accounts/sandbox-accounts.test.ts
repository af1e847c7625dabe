import t from 'tap'
import type { ErrorBody } from '#schemas/common.ts'
import { fieldsAtFault, saveGuests } from '#test/bookings/samples.ts'
import { dump, guestNo } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'
import { readPages } from '#test/pdf/read-pdf.ts'
import { runJob } from '#test/run-job.ts'
import { DAY, houses, must, SECOND, SECRETS, statesOf } from './houses.ts'

const TODAY = '2026-11-21'
const STAY = { check_in: TODAY, numero_notti: 3 }
const server = await build(t, { TODAY })
const { app, call, token, logs, url, dataDir } = server
const { ask, police, house, unit, book, sendDay } = await houses(server, TODAY)
const second = await house({ ...SECOND, categoria: 'singola' })
const [room, flat] = [await unit(1), await unit(second)]

const rowsOf = async (struttura_id: number) => must(
  await call('GET', `/api/alloggiati/sandbox/schedine?struttura_id=${struttura_id}`), 200
).json<{ data: { riga: string }[] }>().data.map(({ riga }) => riga)
const has = async (struttura_id: number, n: number) =>
  (await rowsOf(struttura_id)).some((row) => row.includes(`${guestNo(n).cognome} `))

t.test('one day is sent to two accounts, and each acquires only guests of its own establishment', async (t) => {
  const [here, there] = [await book([guestNo(1), guestNo(2)], room), await book([guestNo(3)], flat)]
  t.same(statesOf(await sendDay({ prova: true })), { [here]: 'pronta', [there]: 'pronta' })
  const sent = await sendDay()
  t.same(statesOf(sent), { [here]: 'acquisita', [there]: 'acquisita' })
  t.equal(new Set(sent.prenotazioni.flatMap(({ ricevute }) => ricevute)).size, 2, 'a submission each')
  t.same([(await rowsOf(1)).length, (await rowsOf(second)).length], [2, 1])
  t.ok(await has(second, 3))
  t.same(statesOf(await sendDay()), { [here]: 'gia_inviata', [there]: 'gia_inviata' })
  t.same([(await rowsOf(1)).length, (await rowsOf(second)).length], [2, 1])

  const sameData = { DATABASE_URL: url, DATA_DIR: dataDir, MASTER_KEY: server.masterKey }
  const later = await build(t, { TODAY: '2026-11-22', ...sameData })
  await runJob(later, 'receipts')
  await runJob(later, 'reconciliation')
  const receipt = async (query: string) =>
    await later.call('GET', `/api/alloggiati/ricevute?data=${TODAY}${query}`)
  const textOf = async (query: string) => (await readPages((await receipt(query)).rawPayload))[0]!
  t.match(await textOf(''), /LOGIN XX000001[^]*SCHEDINE INVIATE 2/)
  t.match(await textOf(`&struttura_id=${second}`), /LOGIN CO000002[^]*SCHEDINE INVIATE 1/)
  t.match((await later.call('GET', '/api/alloggiati/verifica-ricevute')).json(), {
    mancanti: [], in_attesa: [], discordanze: [], totale_prenotazioni: 2, totale_ricevute: 2
  })
  t.same([...new Set((await app.sql`select stato from invii`).map(({ stato }) => stato as string))], ['ricevuto'])
})

t.test('guests who are not sent are listed with the establishment of their unit', async (t) => {
  const [here, there] = [await book([guestNo(4)], await unit(1)), await book([guestNo(5)], await unit(second))]
  const listed = must(await call('GET', '/api/alloggiati/verifica-ricevute'), 200)
    .json<{ mancanti: { prenotazione_id: number, struttura_id?: number }[] }>().mancanti
  t.same(listed.map((each) => [each.prenotazione_id, each.struttura_id]), [[here, 1], [there, second]])
  for (const id of [here, there]) must(await call('PUT', `/api/v1/prenotazioni/${id}`, { stato: 'annullata' }), 200)
})

t.test('guests without a unit are sent to no account, because they could be in either establishment', async (t) => {
  const id = await book([guestNo(10)], null)
  const line = (await sendDay({ prenotazioni: [id] })).prenotazioni[0]!
  t.match(line, { stato: 'incompleta', errors: [{ campo: 'unita_id' }] })
  t.same(fieldsAtFault(await call('POST', `/api/v1/prenotazioni/${id}/invio`)), ['unita_id'])
  t.match((await call('POST', `/api/v1/prenotazioni/${id}/schedine`)).json(),
    { valid: false, errors: [{ campo: 'unita_id' }] })
  const list = { ospiti: [guestNo(11)], prenotazione: STAY }
  for (const testMode of [true, false]) {
    const refused = await call('POST', '/api/alloggiati/invio', { ...list, testMode })
    t.same(fieldsAtFault(refused), ['prenotazione.struttura_id'])
  }
  const named = { ...list, prenotazione: { ...STAY, struttura_id: second } }
  t.equal((await call('POST', '/api/alloggiati/invio', named)).statusCode, 200)
  t.ok(await has(second, 11))
  t.notOk(await has(1, 11))
  must(await call('PUT', `/api/v1/prenotazioni/${id}`, { stato: 'annullata' }), 200)
})

t.test('a list is sent with the account of its booking, even if only name and arrival match', async (t) => {
  const { cognome, nome } = guestNo(20)
  const id = await book([guestNo(20)], await unit(second), { nome_cognome: `${nome} ${cognome}` })
  const list = { ospiti: [guestNo(20)], prenotazione: STAY }
  const wrong = { ...list, prenotazione: { ...STAY, id, struttura_id: 1 } }
  t.same(fieldsAtFault(await call('POST', '/api/alloggiati/invio', wrong)), ['prenotazione.struttura_id'])
  t.match((await call('POST', '/api/alloggiati/invio', list)).json(), { dettagli: { prenotazione_id: id } })
  t.ok(await has(second, 20))
  t.notOk(await has(1, 20))
})

t.test('a guest sent for one establishment is not sent again for another', async (t) => {
  const [wholeUnit, partUnit] = [await unit(second), await unit(second)]
  const whole = await book([guestNo(30)], wholeUnit)
  const part = await book([guestNo(31), guestNo(32)], partUnit, { numero_ospiti: 2 })
  must(await saveGuests(call, part, [guestNo(31)]), 200)
  must(await call('POST', `/api/v1/prenotazioni/${whole}/invio`), 200)
  must(await call('POST', `/api/v1/prenotazioni/${part}/invio`), 200)
  for (const id of [wholeUnit, partUnit]) must(await call('PUT', `/api/v1/unita/${id}`, { struttura_id: 1 }), 200)
  must(await saveGuests(call, part, [guestNo(31), guestNo(32)]), 200)

  const day = await sendDay({ prenotazioni: [whole, part] })
  t.same(statesOf(day), { [whole]: 'gia_inviata', [part]: 'da_confermare' })
  t.match(day.prenotazioni.find(({ prenotazione_id }) => prenotazione_id === part), { errors: [{ campo: 'unita_id' }] })
  t.match((await call('POST', `/api/v1/prenotazioni/${whole}/invio`)).json(), { codice: 'SCHEDINE_GIA_INVIATE' })
  const confirmed = { confermo_diverso: true, motivo: 'ospite davvero nella casa nuova' }
  t.match((await call('POST', `/api/v1/prenotazioni/${whole}/invio`, confirmed)).json(), { status: 409 },
    'the same person is never sent twice')
  const rest = { solo_mancanti: true }
  const url = `/api/v1/prenotazioni/${part}/invio`
  t.match((await call('POST', url, rest)).json(), {
    status: 409, codice: 'INVIATA_CON_ALTRO_ACCOUNT', prenotazione_id: part
  })
  t.notOk(await has(1, 32))
  must(await call('POST', url, { ...rest, ...confirmed }), 200)
  t.ok(await has(1, 32))
  t.notOk(await has(1, 31))
})

t.test('wrong credentials stop only their own establishment, and one without account sends nothing', async (t) => {
  const third = await house({ ...SECOND, utente: 'CO000003', password: 'sbagliata' })
  const fourth = await house()
  const ids = [await book([guestNo(40)], await unit(1)), await book([guestNo(41)], await unit(third)),
    await book([guestNo(42)], await unit(fourth))]
  const day = await sendDay({ prenotazioni: ids })
  t.same(statesOf(day), { [ids[0]!]: 'acquisita', [ids[1]!]: 'non_inviata', [ids[2]!]: 'incompleta' })
  t.match(day.prenotazioni.find(({ prenotazione_id: id }) => id === ids[2]), { errors: [{ campo: 'struttura_id' }] })
  t.match((await call('POST', `/api/v1/prenotazioni/${ids[1]}/invio`)).json(), {
    dettagli: { codice_errore: 'CREDENZIALI_RIFIUTATE' }
  })
  t.match((await call('POST', `/api/v1/prenotazioni/${ids[2]}/invio`)).json<ErrorBody>(), {
    codice: 'CREDENZIALI_MANCANTI', error: new RegExp(`struttura ${fourth}`)
  })
  t.match((await ask('POST', `${police(third)}/prova`)).json(), { connected: false, codice: 'CREDENZIALI_RIFIUTATE' })
  t.match((await ask('GET', police(third))).json(), {
    data: { configurato: true, utente: 'CO000003', ultima_prova: { riuscita: false, codice: 'CREDENZIALI_RIFIUTATE' } }
  })
  t.match((await ask('POST', `${police(second)}/prova`)).json(), { connected: true })
  t.match((await ask('GET', police(second))).json(), {
    data: {
      origine: 'struttura', categoria: 'singola', modalita: 'sandbox', ultima_prova: { riuscita: true, codice: null }
    }
  })
  must(await ask('PUT', police(third), { ...SECOND, utente: 'CO000003' }), 200)
  t.match((await ask('GET', police(third))).json(), { data: { ultima_prova: null } })
  const again = await ask('POST', `${police(third)}/prova`)
  t.match(again.json(), { connected: true }, 'new credentials are tried at once')
  t.match((await ask('POST', `${police(fourth)}/prova`)).json(), { connected: false, codice: 'CREDENZIALI_MANCANTI' })
})

t.test('an account with apartments needs one for each booking of its own establishment only', async (t) => {
  const house5 = await house({ ...SECOND, utente: 'CO000005', categoria: 'appartamenti' })
  const ids = [await book([guestNo(50)], await unit(house5)), await book([guestNo(51)], await unit(1))]
  const day = await sendDay({ prenotazioni: ids, prova: true })
  t.same(statesOf(day), { [ids[0]!]: 'incompleta', [ids[1]!]: 'pronta' })
  const apartment = { descrizione: 'Casa', comune_codice: '412058091', indirizzo: 'Via Alta 1', proprietario: 'Ada' }
  must(await ask('POST', `/api/v1/appartamenti?struttura_id=${house5}`, apartment), 201)
  t.match((await call('GET', `/api/v1/appartamenti?struttura_id=${house5}`)).json(), { data: [{ id: 0 }] })
  for (const path of ['/api/v1/appartamenti', '/api/alloggiati/sandbox/schedine', '/api/v1/alloggiati/account']) {
    t.match((await call('GET', `${path}?struttura_id=99`)).json(), { status: 404, codice: 'STRUTTURA_NON_TROVATA' })
  }
  t.same((await call('GET', '/api/v1/appartamenti')).json(), { data: [] })
  const chosen = { prenotazioni: ids, appartamenti: [{ prenotazione_id: ids[0], id_appartamento: 0 }] }
  t.same(statesOf(await sendDay({ ...chosen, prova: true })), { [ids[0]!]: 'pronta', [ids[1]!]: 'incompleta' })
})

t.test('an establishment can use the account of another one', async (t) => {
  const annex = await house({ di_struttura: second })
  t.match((await ask('GET', police(annex))).json(), {
    data: { configurato: true, utente: SECOND.utente, origine: 'altra_struttura', di_struttura: second }
  })
  const id = await book([guestNo(60)], await unit(annex))
  t.same(statesOf(await sendDay({ prenotazioni: [id] })), { [id]: 'acquisita' })
  t.ok(await has(second, 60))
  for (const di_struttura of [annex, 2_000_000]) {
    t.same(fieldsAtFault(await ask('PUT', police(await house()), { di_struttura })), ['di_struttura'])
  }
  must(await ask('DELETE', police(annex)), 200)
  t.match((await ask('DELETE', police(annex))).json(), { codice: 'ACCOUNT_NON_TROVATO' })
})

t.test('an account needs all credentials, has one establishment, and only administrators change it', async (t) => {
  const other = await house()
  for (const [body, fields] of [
    [{}, ['password', 'utente', 'wskey']],
    [{ ...SECOND, password: null, utente: 'X' }, ['password']],
    [{ utente: 'X', di_struttura: second }, ['utente']],
    [SECOND, ['utente']],
    [{ ...SECOND, utente: SECOND.utente.toLowerCase() }, ['utente']],
    [{ ...SECOND, utente: 'xx000001' }, ['utente']],
    [{ ...SECOND, utente: `${SECOND.utente} ` }, ['utente']],
    [{ ...SECOND, utente: 'X', wskey: 'a\u0007b' }, ['wskey']]
  ] as const) {
    const answer = await ask('PUT', police(other), body)
    t.same(fieldsAtFault(answer).toSorted(), fields)
    t.notMatch(answer.body, /parola-del-porto|chiave-del-porto|a.b»/)
  }
  const operator = { authorization: `Bearer ${await token({ name: 'bruno' })}` }
  for (const [method, url] of [['PUT', ''], ['DELETE', ''], ['POST', '/prova']] as const) {
    const payload = method === 'PUT' ? { payload: { ...SECOND, utente: 'X' } } : {}
    t.equal((await app.inject({ method, url: police(other) + url, headers: operator, ...payload })).statusCode, 403)
  }
  t.match((await ask('DELETE', `/api/v1/strutture/${second}`)).json(), { codice: 'STRUTTURA_IN_USO' })
  t.match((await ask('PUT', police(2_000_000), SECOND)).json(), { codice: 'STRUTTURA_NON_TROVATA' })
})

t.test('the secrets are in no response, log, audit entry or report, nor in clear in the database', async (t) => {
  const id = (await app.sql<{ id: number }[]>`select max(id) as id from prenotazioni`)[0]!.id
  const seen = [
    (await ask('GET', police(second))).body, (await ask('GET', '/api/v1/strutture')).body,
    (await ask('GET', `/api/v1/prenotazioni/${id}/privacy`)).body, (await ask('GET', '/api/v1/audit?limit=500')).body,
    JSON.stringify(logs), await dump(server)
  ].join('\n')
  t.ok(seen.includes('account_polizia'), 'the change is in the audit log')
  for (const secret of SECRETS) {
    t.notOk(seen.includes(secret))
    t.notOk(seen.includes(Buffer.from(secret).toString('hex')))
    t.notOk(seen.includes(Buffer.from(secret).toString('base64')))
  }
  t.equal((await call('POST', DAY, { prova: true })).statusCode, 200)
})
