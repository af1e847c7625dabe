import t from 'tap'
import type { Schedina } from '#schemas/schedina.ts'
import { build } from '#test/helper.ts'
import { emptied } from './emptied.ts'
import { single, soggiorno, today } from './rules/samples.ts'
import { answer } from './service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, standIn } from './stand-in.ts'

const TODAY = { TODAY: today }
const body = (changes: object = {}) => ({ ospiti: [single(changes)], prenotazione: soggiorno })

/** The servers of all tests: each test finds its own empty. */
const sandbox = await build(t, TODAY)
const police = await standIn(t)
const real = await production(t, police)

t.test('a second Send of a guest is refused with the first one\'s reference', async (t) => {
  const { app, call } = await emptied(sandbox)
  const first = (await call('POST', '/api/alloggiati/invio', body())).json()
  const second = await call('POST', '/api/alloggiati/invio', body())
  t.equal(second.statusCode, 409)
  const { requestId, ...rest } = second.json()
  t.type(requestId, 'string')
  t.strictSame(rest, {
    error:
      `Ospiti già inviati, o di esito sconosciuto, con la ricevuta ${first.ricevuta}: ospite 1 (stessa persona). ` +
      'Ciò che la Polizia ha ricevuto può correggerlo solo la Questura; ' +
      'una conferma qui non serve: i dati sono gli stessi',
    status: 409,
    codice: 'SCHEDINE_GIA_INVIATE',
    ricevuta: first.ricevuta,
    ospiti: [0],
    duplicati: [{ ospite: 0, ricevuta: first.ricevuta, stato: 'acquisito', motivo: 'stessa_persona' }]
  })
  t.equal((await app.sql`select from invii`).length, 1, 'the refused one leaves no trace')
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('a guest that was edited after the Send is the same guest', async (t) => {
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

t.test('another guest, and the same one on another arrival, are sent', async (t) => {
  const { call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', body())
  const others = [
    { nome: 'MARIO', numero_documento: 'CA00001AA' },
    { data_nascita: '1980-05-16', numero_documento: 'CA00002AA' }
  ]
  for (const other of others) {
    t.equal((await call('POST', '/api/alloggiati/invio', body(other))).statusCode, 200)
  }
  const yesterday = { ospiti: [single()], prenotazione: { ...soggiorno, check_in: '2026-11-20' } }
  t.equal((await call('POST', '/api/alloggiati/invio', yesterday)).statusCode, 200)
})

t.test('a list with one guest sent before is refused whole: nothing of it goes out', async (t) => {
  const { app, call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', { ospiti: [guestNo(2)], prenotazione: soggiorno })
  const refused = await call('POST', '/api/alloggiati/invio', {
    ospiti: [guestNo(1), guestNo(2), guestNo(3)],
    prenotazione: soggiorno
  })
  t.match(refused.json(), { status: 409, ospiti: [1] })
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

/** Two spellings of one person; each pair with a document of its own. */
const SPELLINGS: [Schedina, Schedina][] = [
  [{ cognome: 'ROSSI', nome: 'NICCOLÒ' }, { cognome: 'ROSSI', nome: "NICCOLO'" }],
  [{ cognome: "D'ANGELO" }, { cognome: 'D ANGELO' }],
  [{ cognome: 'DE LUCA', nome: 'ANNA-MARIA' }, { cognome: 'DELUCA', nome: 'ANNAMARIA' }],
  [{ cognome: 'MÜLLER' }, { cognome: 'MUELLER' }],
  [{ cognome: 'LI', nome: 'WEI' }, { cognome: 'WEI', nome: 'LI' }]
]

t.test('the same person under another spelling is refused, with or without a document', async (t) => {
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

t.test('a document sent before is refused under whatever name, however its number is written', async (t) => {
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

t.test('two guests of one list with one name in two spellings, or one document, are refused', async (t) => {
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
  const confirmed = { ospiti: lists[0][0], prenotazione: soggiorno, ...WORD }
  t.equal((await call('POST', '/api/alloggiati/invio', confirmed)).statusCode, 200)
})

const WORD = { confermo_diverso: true, motivo: 'Due ospiti diversi, passaporti controllati' }

t.test('no word sends one person twice in a list: under another spelling with the same document', async (t) => {
  const { app, call } = await emptied(sandbox)
  const word = { confermo_diverso: true, motivo: 'Due persone con lo stesso nome' }
  const { nome: cognome, cognome: nome } = single()
  const ospiti = [single(), single({ cognome, nome })]
  const refused = (await call('POST', '/api/alloggiati/invio', { ...body(), ospiti, ...word })).json()
  t.match(refused, { status: 409, codice: 'SCHEDINE_GIA_INVIATE', error: /una conferma qui non serve/ })
  t.equal((await app.sql`select from sandbox_schedine`).length, 0)
})

t.test('a person who knows better confirms with a reason: it is recorded, audited, and serves once', async (t) => {
  const { app, call } = await emptied(sandbox)
  const first = (await call('POST', '/api/alloggiati/invio', body({ cognome: 'LI', nome: 'WEI' }))).json()
  const other = body({ cognome: 'WEI', nome: 'LI', numero_documento: 'CA00001AA' })
  t.equal((await call('POST', '/api/alloggiati/invio', other)).statusCode, 409)
  const sent = (await call('POST', '/api/alloggiati/invio', { ...other, ...WORD })).json()
  t.equal(sent.success, true)
  const precedenti = [first.ricevuta]
  t.same(await app.sql`select chi, motivo, array_to_json(precedenti) as precedenti from invii_conferme`,
    [{ chi: 'server', motivo: WORD.motivo, precedenti }])
  t.same(await app.sql`select confermata from invii_schedine order by invio_id`,
    [{ confermata: false }, { confermata: true }])
  const [noted] = await app.sql`select details from audit_log where action = 'invio' order by id desc limit 1`
  t.match(noted!.details, { confermato: true, precedenti })
  t.notMatch(JSON.stringify(noted), /passaporti/, 'the reason may name a guest')

  t.match((await call('POST', '/api/alloggiati/invio', { ...other, ...WORD })).json(),
    { status: 409, ospiti: [0] }, 'a confirmation that is repeated sends nobody twice')
  t.equal((await app.sql`select from sandbox_schedine`).length, 2)
})

t.test('a document that another person was sent with does not keep a guest back when a person confirms', async (t) => {
  const { app, call } = await emptied(sandbox)
  t.equal((await call('POST', '/api/alloggiati/invio', body())).statusCode, 200)
  const other = body({ cognome: 'CORRETTI', nome: 'PIA', data_nascita: '1981-05-15' })
  t.match((await call('POST', '/api/alloggiati/invio', other)).json(), { duplicati: [{ motivo: 'stesso_documento' }] })
  t.equal((await call('POST', '/api/alloggiati/invio', { ...other, ...WORD })).statusCode, 200)
  t.equal((await app.sql`select from sandbox_schedine`).length, 2)
})

t.test('no word sends the very same person again, given before or after the first Send', async (t) => {
  const { app, call } = await emptied(sandbox)
  const send = (changes: object) => call('POST', '/api/alloggiati/invio', { ...body(changes), ...WORD })
  t.equal((await send({})).statusCode, 200, 'nothing stands against it yet')
  const leader = single({ tipo_alloggiato: '17', nome: 'CAPO', numero_documento: 'CA00007AA' })
  const without = { tipo_documento: '', numero_documento: '', luogo_rilascio: '' }
  const family = { ospiti: [leader, single({ tipo_alloggiato: '19', nome: 'UGO', ...without })] }
  t.equal((await call('POST', '/api/alloggiati/invio', { ...family, prenotazione: soggiorno })).statusCode, 200)
  const rows = (await app.sql`select from sandbox_schedine`).length
  for (const outcome of ['acquisita', 'sconosciuta', 'in_corso']) {
    await app.sql`update invii_schedine set esito = ${outcome}`
    t.match((await send({})).json(), { status: 409, error: /una conferma qui non serve|in corso/ }, outcome)
    t.equal((await send({ cognome: single().nome, nome: single().cognome })).statusCode, 409, 'the same document')
    const again = { ...family, prenotazione: soggiorno, ...WORD }
    t.match((await call('POST', '/api/alloggiati/invio', again)).json(), { status: 409, ospiti: [0, 1] })
  }
  t.equal((await app.sql`select from sandbox_schedine`).length, rows)
})

t.test('a word without its reason, or a reason without the word, is a 400 that names what is missing', async (t) => {
  const { call } = await emptied(sandbox)
  const bad: [object, string][] = [
    [{ confermo_diverso: true }, 'motivo'],
    [{ motivo: WORD.motivo }, 'confermo_diverso'],
    [{ ...WORD, confermo_diverso: false }, 'confermo_diverso'],
    [{ ...WORD, motivo: 'corto' }, 'motivo']
  ]
  for (const [fields, campo] of bad) {
    const refused = await call('POST', '/api/alloggiati/invio', { ...body(), ...fields })
    t.match(refused.json(), { status: 400, dettagli: [{ campo }] }, JSON.stringify(fields))
  }
})

t.test('when two servers on one database send a guest 20 times at once, one Send goes out', async (t) => {
  const one = await emptied(real, police)
  const other = await production(t, police, { DATABASE_URL: one.url, DATA_DIR: one.dataDir })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? one : other).call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
    )
  )
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, ...Array.from({ length: 19 }, () => 409)])
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a guest that is being sent cannot be sent beside it', async (t) => {
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
  reply.release(answer(rowsReply('Send', [true])))
  t.equal((await first).json().ricevuta, beside.json().ricevuta)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('what the sandbox took does not keep a guest from the police', async (t) => {
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
