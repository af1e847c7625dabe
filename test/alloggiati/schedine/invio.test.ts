import t from 'tap'
import { decode } from '#src/alloggiati/codec/codec.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { readConfig } from '#src/config/config.ts'
import { masterKey } from '#src/config/master-key.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, foreigner, member, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { dump, guestNo, invio, production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { build, type TestApp } from '#test/helper.ts'

const send = ({ call }: TestApp, ospiti: readonly object[], more: object = {}) => (
  call('POST', '/api/alloggiati/invio', { ospiti, prenotazione: soggiorno, ...more }))

const LEDGER = ['invii', 'invii_schedine', 'invii_tentativi', 'invii_numerazione', 'sandbox_schedine']
const sizes = async ({ app }: TestApp) =>
  Promise.all(LEDGER.map(async (name) => (await app.sql`select from ${app.sql(name)}`).length))

/** The servers of all tests: each test finds its own empty. */
const clock = clockAt(`${today}T12:00:00Z`)
const sandbox = await build(t, {}, undefined, { clock })
const police = await standIn(t)
const real = await production(t, police)

t.test('a sent guest is answered with exactly the contract\'s success, and registered', async (t) => {
  const server = await emptied(sandbox)
  const sent = await send(server, family())
  t.equal(sent.statusCode, 200)
  t.equal(sent.headers['x-alloggiati-mode'], 'sandbox')
  t.strictSame(sent.json(), {
    success: true,
    message: '2 schedine acquisite',
    ricevuta: 'AW-20261121-1',
    dettagli: { schedine_inviate: 2, metodo: 'Send', prenotazione_id: null }
  })
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.equal(data.length, 2)
  t.match(data.map(({ riga }: { riga: string }) => decode(riga)), [
    { record: { tipo_alloggiato: '17', cognome: 'PROVETTI', nome: 'MARCO', data_arrivo: today, permanenza: 3 } },
    { record: { tipo_alloggiato: '19', cognome: 'PROVETTI', nome: 'ANNA', tipo_doc: '' } }
  ])
})

t.test('a dry run registers nothing and leaves no trace in the ledger', async (t) => {
  const server = await emptied(sandbox)
  const tried = await send(server, [single()], { testMode: true })
  t.strictSame(tried.json(), {
    success: true,
    message: '1 schedina valida: nessuna registrazione, era una prova',
    ricevuta: '',
    dettagli: { schedine_inviate: 1, metodo: 'Test', prenotazione_id: null }
  })
  t.same(await sizes(server), [0, 0, 0, 0, 0])
  t.equal((await send(server, [single()])).json().ricevuta, 'AW-20261121-1', 'and the guest can be sent')
})

t.test('local errors block: 422 with the list, no call and no trace', async (t) => {
  const server = await emptied(sandbox)
  const refused = await send(server, [single(), foreigner({ provincia_nascita: 'RM', sesso: 'X' })])
  t.equal(refused.statusCode, 422)
  t.match(refused.json(), {
    success: false,
    error: String,
    dettagli: { codice_errore: 'VALIDAZIONE', messaggio_soap: String },
    status: 422,
    codice: 'VALIDAZIONE',
    errors: [{ ospite: 1, campo: 'sesso' }, { ospite: 1, campo: 'provincia_nascita' }]
  })
  t.same(await sizes(server), [0, 0, 0, 0, 0])
})

t.test('soggiorno adds to prenotazione, which wins where both speak', async (t) => {
  const server = await emptied(sandbox)
  const sent = await server.call('POST', '/api/alloggiati/invio', {
    ospiti: [single()], prenotazione: { check_in: today }, soggiorno: { check_in: '2026-11-20', numero_notti: 7 }
  })
  t.equal(sent.statusCode, 200)
  const { data: [{ riga }] } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.match(decode(riga), { record: { data_arrivo: today, permanenza: 7 } })
  t.match(sent.json().avvisi, [{ campo: 'soggiorno.check_in', messaggio: /prenotazione.check_in, che vale/ }])
})

t.test('nights and a departure that disagree are told, in a rehearsal and after the Send', async (t) => {
  const server = await emptied(sandbox)
  for (const testMode of [true, false]) {
    const prenotazione = { check_in: today, numero_notti: 3, check_out: '2026-11-28' }
    const body = { ospiti: [guestNo(1), guestNo(2)], prenotazione, testMode }
    const { avvisi } = (await server.call('POST', '/api/alloggiati/invio', body)).json()
    t.match(avvisi, [{ ospite: 0, messaggio: /numero_notti \(3\) e check_out .*non concordano/ }])
    t.equal(avvisi.length, 1)
  }
  const agreed = { ospiti: [guestNo(3)], prenotazione: soggiorno, soggiorno }
  t.equal((await server.call('POST', '/api/alloggiati/invio', agreed)).json().avvisi, undefined)
})

t.test('references of submissions at once are all different and without gaps', async (t) => {
  const server = await emptied(sandbox)
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => send(server, [guestNo(n)])))
  const numbers = answers.map((each) => Number(each.json().ricevuta.replace('AW-20261121-', ''))).sort((a, b) => a - b)
  t.same(numbers, Array.from({ length: 12 }, (_, n) => n + 1))
})

t.test('the police holds byte for byte the row that the ledger keeps', async (t) => {
  const server = await emptied(sandbox)
  await send(server, family({ cognome: "D'Énrico-Prova" }))
  const keys = createKeys(masterKey(undefined, server.dataDir).key)
  const kept = await server.app.sql`select invio_id, indice, riga from invii_schedine order by indice`
  const opened = kept.map(({ invio_id, indice, riga }) =>
    keys.unseal(riga, `invii_schedine.riga/${invio_id}/${indice}`).toString()
  )
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.equal(opened.length, 2)
  t.same(opened, data.map(({ riga }: { riga: string }) => riga))
})

t.test('no guest can be read in the database: neither from the record nor from the reply', async (t) => {
  const server = await emptied(real, police)
  const secrets = ['SEGRETONI', 'ZZ9988776']
  police.on.Send = answer(rowsReply('Send', [false]).replace('Numero Documento non valido', 'Errato'))
  await server.call(
    'POST',
    '/api/alloggiati/invio',
    invio([single({ cognome: 'SEGRETONI', numero_documento: 'ZZ9988776' })]),
    { 'idempotency-key': 'una' }
  )
  t.equal(police.callsOf('Send').length, 1)
  t.match(police.callsOf('Send')[0]!.body, 'SEGRETONI')
  const everything = await dump(server)
  t.match(everything, 'rifiutata', 'the dump holds the submission')
  for (const secret of secrets) {
    for (const encoding of ['utf8', 'hex', 'base64'] as const) {
      const text = Buffer.from(secret).toString(encoding).replace(/=+$/, '').slice(0, -1)
      t.notOk(everything.toLowerCase().includes(text.toLowerCase()), encoding)
    }
    t.notOk(JSON.stringify(server.logs).includes(secret), 'nor in the log')
  }
})

t.test('an apartment\'s guests go out as 174 characters, with the method for them', async (t) => {
  const server = await emptied(sandbox)
  await addApartment(server)
  const prenotazione = { ...soggiorno, id_appartamento: 0 }
  const tried = await send(server, [single()], { prenotazione, testMode: true })
  t.equal(tried.json().dettagli?.metodo, 'GestioneAppartamenti_FileUnico_Test')
  const sent = await send(server, [single()], { prenotazione })
  t.strictSame(sent.json().dettagli, {
    schedine_inviate: 1, metodo: 'GestioneAppartamenti_FileUnico_Send', prenotazione_id: null
  })
  const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
  t.equal(data[0].riga.length, 174)
  t.match(data[0], { riga: /000000$/, id_appartamento: 0 })
})

t.test('an apartment that the police does not have is a refusal of each row', async (t) => {
  const server = await emptied(sandbox)
  const refused = await send(server, [single()], { prenotazione: { ...soggiorno, id_appartamento: 7 } })
  t.match(refused.json(), {
    status: 422, codice: 'SCHEDINE_RIFIUTATE', schedine: [{ ospite: 0, esito: 'rifiutata', codice_errore: String }]
  })
})

t.test(
  'of a list that is acquired in part the acquired guests stay so, and the rest can be corrected and sent alone',
  async (t) => {
    const { app, call } = await emptied(real, police)
    const guests = [guestNo(1), guestNo(2), guestNo(3)]
    police.on.Send = answer(rowsReply('Send', [true, false, true]))
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

t.test('a refusal names the guest whom the police refused, not one who was kept back with them', async (t) => {
  const { call } = await emptied(real, police)
  police.on.Test = answer(rowsReply('Test', [true, false]))
  const refused = await call('POST', '/api/alloggiati/invio', invio(family()))
  t.match(refused.json(), {
    status: 422,
    error: /ospite 2: SCHEDINA_CAMPO_NON_CORRETTO/,
    dettagli: { codice_errore: '12', messaggio_soap: /^ospite 2: / },
    schedine: [{ codice_errore: '', dettaglio: /un'altra schedina/ }, { codice_errore: '12' }]
  })
})

t.test('without credentials a production server says so and sends nothing', async (t) => {
  const server = await build(t, { ALLOGGIATI_MODE: 'production' })
  for (const testMode of [true, false]) {
    const refused = await server.call('POST', '/api/alloggiati/invio', invio([single()], { testMode }))
    t.equal(refused.statusCode, 422)
    t.equal(refused.headers['x-alloggiati-mode'], undefined)
    t.match(refused.json(), {
      success: false,
      error: 'Credenziali Alloggiati Web non configurate',
      dettagli: { codice_errore: 'CREDENZIALI_MANCANTI' }
    })
  }
  t.same(await sizes(server), [0, 0, 0, 0, 0])
})

t.test('the same Idempotency-Key gives the stored answer, without a second call', async (t) => {
  const { call } = await emptied(real, police)
  const headers = { 'idempotency-key': 'invio-1' }
  const first = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]), headers)
  const second = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]), headers)
  t.equal(second.statusCode, 200)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.equal(second.body, first.body)
  const other = await call('POST', '/api/alloggiati/invio', invio([guestNo(2)]), headers)
  t.match(other.json(), { status: 422, codice: 'IDEMPOTENCY_KEY_RIUSATA' })
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a group of many rows goes out in one call, in order', async (t) => {
  const { call } = await emptied(real, police)
  const members = Array.from({ length: 199 }, (_, n) => member('20', 'MEMBRO', { cognome: guestNo(n).cognome }))
  const sent = await call('POST', '/api/alloggiati/invio', invio([single({ tipo_alloggiato: '18' }), ...members]))
  t.equal(sent.json().dettagli?.schedine_inviate, 200)
  const [only] = police.callsOf('Send')
  t.equal(police.callsOf('Send').length, 1)
  t.same(only!.rows.map((row) => row.slice(0, 2)), ['18', ...members.map(() => '20')])
  t.match(only!.rows[199], String(members[198]!.cognome))
})

/** Enters an apartment, number 0, on the sandbox's own account. */
async function addApartment ({ app, dataDir, url }: TestApp): Promise<void> {
  const config = readConfig({ DATA_DIR: dataDir, DATABASE_URL: url, TODAY: today })
  const { service, close } = await policeService({
    config, keys: createKeys(config.MASTER_KEY), clock: createClock(today), db: app.db, log: app.log
  })
  await service!.client.GestioneAppartamenti_AggiungiAppartamento({
    Utente: service!.utente,
    token: await service!.token.get(),
    Descrizione: 'PROVA',
    ComuneCodice: '412058091',
    Indirizzo: 'VIA DI PROVA 1',
    Proprietario: 'PROVA'
  })
  await close()
}
