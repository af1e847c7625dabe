import t from 'tap'
import { acquired } from '#src/alloggiati/service/sandbox/store.ts'
import { testDatabase } from '#test/database.ts'
import { ACCOUNT, client, clockAt, every, first, list, login, outcomes, sandbox, session } from './client.ts'
import { ABROAD, guest, member } from './guest.ts'

const NOW = '2026-11-21T09:00:00Z'
const BOTH = [1.1, 1.2] as const
const APARTMENT = '<a:Descrizione>Casa al lago</a:Descrizione><a:ComuneCodice>412058091</a:ComuneCodice>' +
  '<a:Indirizzo>via dei Prati, 8</a:Indirizzo><a:Proprietario>Bianchi Ada</a:Proprietario>'

t.test('GenerateToken', async (t) => {
  const { db } = await testDatabase(t)
  const clock = clockAt('2026-11-21T12:13:47.154Z')
  const { call } = await sandbox(t, db, clock)

  t.test('gives a token for an hour, in Rome\'s time with its offset, winter and summer', async (t) => {
    for (const version of BOTH) {
      const { status, text } = await call('GenerateToken', login(), version)
      t.equal(status, 200)
      t.equal(first(text, 'issued'), '2026-11-21T13:13:47.1540000+01:00')
      t.equal(first(text, 'expires'), '2026-11-21T14:13:47.1540000+01:00')
      t.match(first(text, 'token'), /^[\w-]{43}$/)
      t.match(
        text,
        '</GenerateTokenResult><result><esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/></result>'
      )
    }
    clock.set('2026-07-01T22:30:00Z')
    t.equal(first((await call('GenerateToken', login())).text, 'issued'), '2026-07-02T00:30:00.0000000+02:00')
    clock.set(NOW)
  })

  for (const wrong of ['utente', 'password', 'wskey']) {
    t.test(`a wrong ${wrong} gives no token, but a code`, async (t) => {
      const { status, text } = await call('GenerateToken', login({ ...ACCOUNT, [wrong]: 'sbagliato' }))
      t.equal(status, 200)
      t.notMatch(text, 'GenerateTokenResult')
      t.match(outcomes(text), [/^false \d+ AUTENTICAZIONE_FALLITA ./])
    })
  }

  t.test('nothing at all gives no token either', async (t) => {
    t.equal(first((await call('GenerateToken', '')).text, 'esito'), 'false')
  })

  t.test('a token ends after its hour, and is nobody else\'s', async (t) => {
    const token = first((await call('GenerateToken', login())).text, 'token')
    clock.set('2026-11-21T09:59:59Z')
    t.same(outcomes((await call('Authentication_Test', session(token))).text), ['true'])
    t.match(outcomes((await call('Authentication_Test', session(token, 'RM000002'))).text), [
      /^false \d+ TOKEN_NON_VALIDO/
    ])
    clock.set('2026-11-21T10:00:00Z')
    t.match(outcomes((await call('Authentication_Test', session(token))).text), [
      /^false \d+ TOKEN_NON_VALIDO Token non valido o scaduto$/
    ])
  })

  t.test('a second token leaves the first one good', async (t) => {
    const [one, two] = [
      first((await call('GenerateToken', login())).text, 'token'),
      first((await call('GenerateToken', login())).text, 'token')
    ]
    t.not(one, two)
    for (const token of [one, two]) t.same(outcomes((await call('Authentication_Test', session(token))).text), ['true'])
  })
})

t.test('Test and Send', async (t) => {
  const { db } = await testDatabase(t)
  const { call, token: getToken } = await sandbox(t, db, clockAt(NOW))
  const prefix = session(await getToken())

  t.test('without a good token nothing is judged and nothing is taken', async (t) => {
    const { text } = await call('Send', session('altro') + list([guest()]))
    t.match(outcomes(text), [/^false \d+ TOKEN_NON_VALIDO/])
    t.notMatch(text, '<Dettaglio>')
    t.same(await acquired(db, ACCOUNT.utente), [])
  })

  t.test('Test takes nothing', async (t) => {
    for (const version of BOTH) {
      t.same(outcomes((await call('Test', prefix + list([guest()]), version)).text), ['true', 'true'])
    }
    t.same(await acquired(db, ACCOUNT.utente), [])
  })

  t.test('Send takes the good rows, exactly as sent, and only those', async (t) => {
    const good = [guest({ tipo: '17', ...ABROAD, rilascio: '100000216' }), member(ABROAD), guest({ cognome: 'MARTIN' })]
    const { text } = await call(
      'Send',
      prefix + list([good[0] ?? '', good[1] ?? '', guest({ sesso: '3' }), good[2] ?? '']),
      1.1
    )
    t.equal(first(text, 'SchedineValide'), '3')
    t.same(outcomes(text), ['true', 'true', 'true', 'false 12 SCHEDINA_CAMPO_NON_CORRETTO Sesso Errato', 'true'])
    const stored = await acquired(db, ACCOUNT.utente)
    t.same(stored.map(({ riga }) => riga), good)
    t.match(stored[0], { giorno: '2026-11-21', id_appartamento: null })
    t.equal(new Date(stored[0]?.acquisita_il ?? '').toISOString(), '2026-11-21T09:00:00.000Z')
    t.same(await acquired(db, 'RM000002'), [])
  })

  t.test('what is sent twice is acquired twice: the caller has to know', async (t) => {
    const before = (await acquired(db, ACCOUNT.utente)).length
    for (let i = 0; i < 2; i++) await call('Send', prefix + list([guest()]))
    t.equal((await acquired(db, ACCOUNT.utente)).length, before + 2)
  })

  t.test('an empty list, and a list that is no list, fail as a call', async (t) => {
    for (const rows of ['', '<a:ElencoSchedine/>']) {
      const { status, text } = await call('Send', prefix + rows)
      t.equal(status, 200)
      t.match(outcomes(text), [/^false \d+ ERRORE_PARAMETRO_ERRATO Elenco Schedine Vuoto$/])
    }
  })

  t.test('a thousand rows are taken, one more is not', async (t) => {
    const rows = Array(1000).fill(guest())
    const before = (await acquired(db, ACCOUNT.utente)).length
    const { text } = await call('Send', prefix + list(rows))
    t.equal(first(text, 'SchedineValide'), '1000')
    t.equal((await acquired(db, ACCOUNT.utente)).length, before + 1000)
    t.match(outcomes((await call('Send', prefix + list([...rows, guest()]))).text), [
      /^false \d+ ERRORE_PARAMETRO_ERRATO ./
    ])
    t.equal((await acquired(db, ACCOUNT.utente)).length, before + 1000)
  })

  t.test('a nil row is a row of wrong size', async (t) => {
    const nil =
      '<a:ElencoSchedine><a:string xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil="true"/></a:ElencoSchedine>'
    t.same(outcomes((await call('Test', prefix + nil)).text), [
      'true',
      'false 11 SCHEDINA_FORMATO_NON_CORRETTO Dimensione Riga errata'
    ])
  })
})

t.test('apartments', async (t) => {
  const { db } = await testDatabase(t)
  const { call, token: getToken } = await sandbox(t, db, clockAt(NOW))
  const prefix = session(await getToken())
  const add = async (children = APARTMENT) => await call('GestioneAppartamenti_AggiungiAppartamento', prefix + children)
  const listed = async () =>
    first((await call('Tabella', `${prefix}<a:tipo>ListaAppartamenti</a:tipo>`)).text, 'CSV').split('\n')
  const withId = (id: string) => `<a:IdAppartamento>${id}</a:IdAppartamento>`

  t.test('are numbered from 0 and listed in capitals with comune and province', async (t) => {
    t.same(await listed(), ['IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario'])
    t.same(outcomes((await add()).text), ['true'])
    for (let i = 0; i < 3; i++) await add()
    t.same(
      (await listed()).slice(1),
      [0, 1, 2, 3].map((id) => `${id};CASA AL LAGO;ROMA;RM;VIA DEI PRATI, 8;BIANCHI ADA`)
    )
  })

  t.test('need all their data, and a comune of today', async (t) => {
    const before = await listed()
    for (const [from, to] of [
      ['Casa al lago', ' '],
      ['via', 'a;b'],
      ['412058091', '999999999'],
      ['412058091', '401001501'],
      ['Bianchi Ada', 'x'.repeat(201)]
    ]) {
      t.match(outcomes((await add(APARTMENT.replace(from ?? '', to ?? ''))).text), [
        /^false \d+ ERRORE_PARAMETRO_ERRATO ./
      ])
    }
    t.same(await listed(), before)
  })

  t.test('a disabled one is gone for good, and its number is not given again', async (t) => {
    t.same(outcomes((await call('GestioneAppartamenti_DisabilitaAppartamento', prefix + withId('3'), 1.1)).text), [
      'true'
    ])
    t.match(outcomes((await call('GestioneAppartamenti_DisabilitaAppartamento', prefix + withId('3'))).text), [
      /^false \d+ ERRORE_PARAMETRO_ERRATO/
    ])
    await add()
    t.same((await listed()).slice(1).map((line) => line.split(';')[0]), ['0', '1', '2', '4'])
  })

  t.test(
    'GestioneAppartamenti_Test and _Send go to one active apartment, named with or without leading zeros',
    async (t) => {
      for (const version of BOTH) {
        t.same(
          outcomes(
            (await call('GestioneAppartamenti_Test', prefix + list([guest()]) + withId('000002'), version)).text
          ),
          ['true', 'true']
        )
      }
      t.same(await acquired(db, ACCOUNT.utente), [])
      t.match(outcomes((await call('GestioneAppartamenti_Send', prefix + list([guest()]) + withId('3'))).text), [
        /^false \d+ ERRORE_PARAMETRO_ERRATO/
      ])
      t.same(await acquired(db, ACCOUNT.utente), [])
      t.same(outcomes((await call('GestioneAppartamenti_Send', prefix + list([guest()]) + withId('2'))).text), [
        'true',
        'true'
      ])
      t.match(await acquired(db, ACCOUNT.utente), [{ id_appartamento: 2 }])
    }
  )

  t.test('File Unico: every row names its own active apartment, members that of their leader', async (t) => {
    const rows = [
      `${guest()}000000`,
      `${guest()}1     `,
      guest(),
      `${guest()}000003`,
      `${guest()}      `,
      `${guest({ tipo: '18' })}000001`,
      `${member({ tipo: '20' })}000001`,
      `${member({ tipo: '20' })}000002`
    ]
    const expected = ['true', 'true', 'true', 'false 11 SCHEDINA_FORMATO_NON_CORRETTO Dimensione Riga errata',
      ...Array(2).fill('false 12 SCHEDINA_CAMPO_NON_CORRETTO Id Appartamento Errato'), 'true', 'true',
      'false 12 SCHEDINA_CAMPO_NON_CORRETTO Id Appartamento Errato']
    const before = (await acquired(db, ACCOUNT.utente)).length
    for (const version of BOTH) {
      t.same(outcomes((await call('GestioneAppartamenti_FileUnico_Test', prefix + list(rows), version)).text), expected)
    }
    t.same(outcomes((await call('GestioneAppartamenti_FileUnico_Send', prefix + list(rows))).text), expected)
    t.same(
      (await acquired(db, ACCOUNT.utente)).slice(before).map(({ riga, id_appartamento }) => [riga, id_appartamento]),
      [
        [rows[0], 0],
        [rows[1], 1],
        [rows[5], 1],
        [rows[6], 1]
      ]
    )
  })

  t.test('added at the same time get a number each', async (t) => {
    const before = (await listed()).length
    await Promise.all(Array.from({ length: 20 }, () => add()))
    t.equal((await listed()).length, before + 20)
  })
})

t.test('Tabella', async (t) => {
  const { db } = await testDatabase(t)
  const { call, token: getToken } = await sandbox(t, db, clockAt(NOW))
  const prefix = session(await getToken())
  const table = async (tipo: string) => first((await call('Tabella', `${prefix}<a:tipo>${tipo}</a:tipo>`)).text, 'CSV')

  t.test('Luoghi holds comuni and states in one list, those that are no more with their end', async (t) => {
    const csv = await table('Luoghi')
    const lines = csv.split('\n')
    t.equal(lines[0], 'Codice;Descrizione;Provincia;DataFineVal')
    for (const line of [
      '412058091;ROMA;RM;',
      '100000100;ITALIA;ES;',
      '401001501;ABBADIA ALPINA;TO;31/12/1983 00:00:00',
      '100000210;CECOSLOVACCHIA;ES;01/01/1993 00:00:00'
    ]) {
      t.ok(lines.includes(line), line)
    }
    t.ok(lines.length > 11_000)
    t.ok(lines.every((line) => line.split(';').length === 4))
    t.notMatch(csv, /\r|\n$/)
  })

  t.test('the small tables have a header and a line each', async (t) => {
    const documents = (await table('Tipi_Documento')).split('\n')
    t.equal(documents[0], 'Codice;Descrizione')
    t.equal(documents.length, 96)
    t.ok(documents.includes("IDENT;CARTA DI IDENTITA'"))
    t.equal(
      await table('Tipi_Alloggiato'),
      'Codice;Descrizione\n16;OSPITE SINGOLO\n17;CAPO FAMIGLIA\n18;CAPO GRUPPO\n19;FAMILIARE\n20;MEMBRO GRUPPO'
    )
    const errors = (await table('TipoErrore')).split('\n')
    t.ok(errors.includes('11;SCHEDINA_FORMATO_NON_CORRETTO') && errors.includes('12;SCHEDINA_CAMPO_NON_CORRETTO'))
  })

  t.test('without a good token there is no table', async (t) => {
    const { text } = await call('Tabella', `${session('altro')}<a:tipo>Luoghi</a:tipo>`)
    t.match(outcomes(text), [/^false \d+ TOKEN_NON_VALIDO/])
    t.same(every(text, 'CSV'), [])
  })
})

t.test('all state is in the database: a restart keeps it and a second instance shares it', async (t) => {
  const { db } = await testDatabase(t)
  const clock = clockAt(NOW)
  const one = await sandbox(t, db, clock)
  const token = await one.token()
  await one.call('GestioneAppartamenti_AggiungiAppartamento', session(token) + APARTMENT)
  await one.call('Send', session(token) + list([guest()]))
  const two = await sandbox(t, db, clock)
  await one.close()
  await t.rejects(client(one.endpoint).token())

  t.match(
    (await two.call('Tabella', `${session(token)}<a:tipo>ListaAppartamenti</a:tipo>`)).text,
    '0;CASA AL LAGO;ROMA;RM;'
  )
  clock.set('2026-11-22T09:00:00Z')
  t.match(
    outcomes((await two.call('Ricevuta', `${session(token)}<a:Data>2026-11-21T00:00:00</a:Data>`)).text),
    [/^false/],
    'the token has ended'
  )
  t.same(
    outcomes((await two.call('Ricevuta', `${session(await two.token())}<a:Data>2026-11-21T00:00:00</a:Data>`)).text),
    ['true']
  )
})
