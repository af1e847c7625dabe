import t, { type Test } from 'tap'
import { getDocument } from 'unpdf/pdfjs'
import { acquired } from '#src/alloggiati/service/sandbox/sandbox-store.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import { testDatabase } from '#test/database.ts'
import {
  ACCOUNT, client, clockAt, every, first, HEADERS, list, login, outcomes, sandbox, session
} from './client.ts'
import { ABROAD, guest, member } from './guest.ts'

const NOW = '2026-11-21T09:00:00Z'
const APARTMENT = '<a:Descrizione>Casa al lago</a:Descrizione><a:ComuneCodice>412058091</a:ComuneCodice>' +
  '<a:Indirizzo>via dei Prati, 8</a:Indirizzo><a:Proprietario>Bianchi Ada</a:Proprietario>'

t.test('GenerateToken', async (t) => {
  const { db } = await testDatabase(t)
  const clock = clockAt('2026-11-21T12:13:47.154Z')
  const { call } = await sandbox(t, db, clock)

  t.test('returns a token for an hour, with the UTC offset of Italy in winter and summer', async (t) => {
    const { status, text } = await call('GenerateToken', login())
    t.equal(status, 200)
    t.equal(first(text, 'issued'), '2026-11-21T13:13:47.1540000+01:00')
    t.equal(first(text, 'expires'), '2026-11-21T14:13:47.1540000+01:00')
    t.match(first(text, 'token'), /^[\w-]{43}$/)
    t.match(
      text,
      '</GenerateTokenResult><result><esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/></result>'
    )
    clock.set('2026-07-01T22:30:00Z')
    t.equal(first((await call('GenerateToken', login())).text, 'issued'), '2026-07-02T00:30:00.0000000+02:00')
    clock.set(NOW)
  })

  const refused = [{ password: 'altra' }, { wskey: 'altra' }, { utente: 'RM000002', password: 'sbagliata' }]
  for (const wrong of refused) {
    t.test(`a login with ${JSON.stringify(wrong)} returns an error code and no token`, async (t) => {
      const { status, text } = await call('GenerateToken', login({ ...ACCOUNT, ...wrong }))
      t.equal(status, 200)
      t.notMatch(text, 'GenerateTokenResult')
      t.match(outcomes(text), [/^false \d+ AUTENTICAZIONE_FALLITA ./])
    })
  }

  t.test('a token expires after an hour, and is valid for one account only', async (t) => {
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
})

t.test('Test and Send', async (t) => {
  const { db } = await testDatabase(t)
  const { call, token: getToken } = await sandbox(t, db, clockAt(NOW))
  const prefix = session(await getToken())

  t.test('without a valid token nothing is checked, and no row is acquired', async (t) => {
    const { text } = await call('Send', session('altro') + list([guest()]))
    t.match(outcomes(text), [/^false \d+ TOKEN_NON_VALIDO/])
    t.notMatch(text, '<Dettaglio>')
    t.same(await acquired(db, ACCOUNT.utente), [])
  })

  t.test('Test acquires no row', async (t) => {
    t.same(outcomes((await call('Test', prefix + list([guest()]))).text), ['true', 'true'])
    t.same(await acquired(db, ACCOUNT.utente), [])
  })

  t.test('Send acquires only the valid rows, exactly as sent', async (t) => {
    const good = [guest({ tipo: '17', ...ABROAD, rilascio: '100000216' }), member(ABROAD), guest({ cognome: 'MARTIN' })]
    const { text } = await call(
      'Send',
      prefix + list([good[0] ?? '', good[1] ?? '', guest({ sesso: '3' }), good[2] ?? ''])
    )
    t.equal(first(text, 'SchedineValide'), '3')
    t.same(outcomes(text), ['true', 'true', 'true', 'false 12 SCHEDINA_CAMPO_NON_CORRETTO Sesso Errato', 'true'])
    const stored = await acquired(db, ACCOUNT.utente)
    t.same(stored.map(({ riga }) => riga), good)
    t.match(stored[0], { giorno: '2026-11-21', id_appartamento: null })
    t.equal(new Date(stored[0]?.acquisita_il ?? '').toISOString(), '2026-11-21T09:00:00.000Z')
    t.same(await acquired(db, 'RM000002'), [])
  })

  t.test('Tabella fails without the name of a table, or with an unknown one', async (t) => {
    for (const tipo of ['', '<a:tipo>Comuni</a:tipo>']) {
      const { text } = await call('Tabella', prefix + tipo)
      t.match(outcomes(text), [/^false \d+ ERRORE_PARAMETRO_ERRATO/])
    }
  })

  t.test('a call fails without a list, or with an empty list', async (t) => {
    for (const rows of ['', '<a:ElencoSchedine/>']) {
      const { status, text } = await call('Send', prefix + rows)
      t.equal(status, 200)
      t.match(outcomes(text), [/^false \d+ ERRORE_PARAMETRO_ERRATO Elenco Schedine Vuoto$/])
    }
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

  t.test('are numbered from 0, and listed in capitals with comune and province', async (t) => {
    t.same(await listed(), ['IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario'])
    t.same(outcomes((await add()).text), ['true'])
    for (let i = 0; i < 3; i++) await add()
    t.same(
      (await listed()).slice(1),
      [0, 1, 2, 3].map((id) => `${id};CASA AL LAGO;ROMA;RM;VIA DEI PRATI, 8;BIANCHI ADA`)
    )
  })

  t.test('a disabled apartment is permanently deleted, and its number is not reused', async (t) => {
    t.same(outcomes((await call('GestioneAppartamenti_DisabilitaAppartamento', prefix + withId('3'))).text), [
      'true'
    ])
    t.match(outcomes((await call('GestioneAppartamenti_DisabilitaAppartamento', prefix + withId('3'))).text), [
      /^false \d+ ERRORE_PARAMETRO_ERRATO/
    ])
    await add()
    t.same((await listed()).slice(1).map((line) => line.split(';')[0]), ['0', '1', '2', '4'])
  })

  t.test('a File Unico row must name an active apartment, and a member the apartment of the leader', async (t) => {
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
    t.same(outcomes((await call('GestioneAppartamenti_FileUnico_Test', prefix + list(rows))).text), expected)
    t.same(outcomes((await call('GestioneAppartamenti_FileUnico_Send', prefix + list(rows))).text), expected)
    t.same(
      (await acquired(db, ACCOUNT.utente)).slice(before).map(({ riga, id_appartamento }) => [riga, id_appartamento]),
      [[rows[0], 0], [rows[1], 1], [rows[5], 1], [rows[6], 1]]
    )
  })
})

t.test('the database contains all state: a second instance shares it, and needs no first one', async (t) => {
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
    'the token has expired'
  )
  t.same(
    outcomes((await two.call('Ricevuta', `${session(await two.token())}<a:Data>2026-11-21T00:00:00</a:Data>`)).text),
    ['true']
  )
})

const foreign = { ...ABROAD, rilascio: '100000216' }

const GOOD: Record<string, string> = {
  'a guest born in Italy': guest(),
  'a guest born abroad': guest(foreign),
  'an Italian born abroad': guest({ ...foreign, cittadinanza: '100000100', rilascio: '412058091' }),
  'a foreigner born in Italy': guest({ cittadinanza: '100000216', rilascio: '100000216' }),
  'an arrival of today': guest({ arrivo: '21/11/2026' }),
  'an arrival of yesterday': guest({ arrivo: '20/11/2026' }),
  'one night with a zero': guest({ giorni: '01' }),
  'one night after a blank': guest({ giorni: ' 1' }),
  'one night before a blank': guest({ giorni: '1' }),
  'thirty nights': guest({ giorni: '30' }),
  'a name in lower case': guest({ cognome: 'De Rossi', nome: "Ada l'altra" }),
  'a birth on the day of arrival': guest({ nascita: '21/11/2026' }),
  'a birth in a ceased comune': guest({ comune: '401001501', provincia: 'TO' }),
  'a birth in a ceased state': guest({ ...foreign, stato: '100000210' }),
  'a document number with a hyphen, a slash and a dot': guest({ numero: 'AB-12/3.4' }),
  'a leader without members': guest({ tipo: '17' })
}

const BAD: Record<string, [row: string, text: string]> = {
  'an unknown type': [guest({ tipo: '15' }), 'Tipo Alloggiato Errato'],
  'an arrival of tomorrow': [guest({ arrivo: '22/11/2026' }), 'Data di Arrivo Errata'],
  'an arrival of two days ago': [guest({ arrivo: '19/11/2026' }), 'Data di Arrivo Errata'],
  'an arrival in ISO form': [guest({ arrivo: '2026-11-21' }), 'Data di Arrivo Non Valida'],
  'an arrival that does not exist': [guest({ arrivo: '31/11/2026' }), 'Data di Arrivo Non Valida'],
  'no nights': [guest({ giorni: '00' }), 'Giorni di Permanenza Errati'],
  'thirty-one nights': [guest({ giorni: '31' }), 'Giorni di Permanenza Errati'],
  'nights that are no number': [guest({ giorni: '-1' }), 'Giorni di Permanenza Errati'],
  'no surname': [guest({ cognome: '' }), 'Cognome non valido'],
  'a surname that is not left aligned': [guest({ cognome: ' ROSSI' }), 'Cognome non valido'],
  'no name': [guest({ nome: '' }), 'Nome non valido'],
  'an accent in the surname': [guest({ cognome: 'NICOLÒ' }), 'Nome/Cognome con caratteri non validi'],
  'a hyphen in the name': [guest({ nome: 'ANNE-MARIE' }), 'Nome/Cognome con caratteri non validi'],
  'a digit in the name': [guest({ nome: 'ANNA 2' }), 'Nome/Cognome con caratteri non validi'],
  'a sex by letter': [guest({ sesso: 'F' }), 'Sesso Errato'],
  'a birth that does not exist': [guest({ nascita: '29/02/1983' }), 'Data di Nascita non valida'],
  'a birth after the arrival': [guest({ nascita: '22/11/2026' }), 'Data di Nascita Errata'],
  'a birth state by its ISO number': [guest({ ...foreign, stato: '100000276' }), 'Stato di Nascita Errato'],
  'a birth comune that is missing': [guest({ comune: '', provincia: '' }), 'Comune di Nascita Errato'],
  'a birth comune by its cadastral code': [guest({ comune: 'H501' }), 'Comune di Nascita Errato'],
  'a birth comune for a birth abroad': [guest({ ...foreign, comune: '412058091' }), 'Comune di Nascita Errato'],
  'another province than the comune\'s': [guest({ provincia: 'MI' }), 'Provincia di Nascita Errata'],
  'a province for a birth abroad': [guest({ ...foreign, provincia: 'EE' }), 'Provincia di Nascita Errata'],
  'an unknown citizenship': [guest({ cittadinanza: 'ITA' }), 'Cittadinanza Errata'],
  'a citizenship of a ceased state': [guest({ cittadinanza: '100000210' }), 'Cittadinanza Errata'],
  'no document type': [guest({ documento: '' }), 'Tipo Documento non valido'],
  'an unknown document type': [guest({ documento: 'PASSP' }), 'Tipo Documento Errato'],
  'no document number': [guest({ numero: '' }), 'Numero Documento non valido'],
  'a document number with a symbol': [guest({ numero: 'AB#1' }), 'Numero Documento con caratteri non validi'],
  'no issue place': [guest({ rilascio: '' }), 'Luogo di Rilascio Errato'],
  'Italy itself as the issue place': [guest({ rilascio: '100000100' }), 'Luogo di Rilascio Errato'],
  'a ceased comune as the issue place': [guest({ rilascio: '401001501' }), 'Luogo di Rilascio Errato'],
  'a member without a leader': [member(), 'Ospite con Capo Gruppo o Capo Famiglia Mancante']
}

t.test('rows', async (t) => {
  // 00:30 on the 21st in Rome is still the 20th in UTC.
  const { db } = await testDatabase(t)
  const { call, token: getToken } = await sandbox(t, db, clockAt('2026-11-20T23:30:00Z'))
  const prefix = session(await getToken())
  const messagesOf = async (rows: readonly string[]): Promise<string[]> => {
    const { text } = await call('Test', prefix + list([...rows]))
    const [, ...messages] = every(text, 'esito')
    t.equal(first(text, 'SchedineValide'), String(messages.filter((esito) => esito === 'true').length))
    return outcomes(text).slice(1).map((outcome) => outcome.replace('false 12 SCHEDINA_CAMPO_NON_CORRETTO ', ''))
  }

  t.test('every row of a call is checked independently, in order', async (t) => {
    const rows = [...Object.values(GOOD), ...Object.values(BAD).map(([row]) => row)]
    const messages = await messagesOf(rows)
    t.ok(rows.every((row) => row.length === 168))
    for (const [at, title] of Object.keys(GOOD).entries()) t.equal(messages[at], 'true', title)
    for (const [at, [title, [, text]]] of Object.entries(BAD).entries()) {
      t.equal(messages[Object.keys(GOOD).length + at], text, title)
    }
  })

  t.test('a row of another length is a format error, with any content', async (t) => {
    const wrong = 'false 11 SCHEDINA_FORMATO_NON_CORRETTO Dimensione Riga errata'
    t.same(await messagesOf(['', 'x', `${guest()} `, guest().slice(1), `${guest()}000001`]), Array(5).fill(wrong))
  })

  t.test('members must follow an accepted leader of their kind, without a gap', async (t) => {
    const orphan = 'Ospite con Capo Gruppo o Capo Famiglia Mancante'
    const [family, group, relative, companion] = [
      guest({ tipo: '17' }), guest({ tipo: '18' }), member(), member({ tipo: '20' })
    ]
    t.same(await messagesOf([family, relative, relative, group, companion]), Array(5).fill('true'))
    t.same(await messagesOf([family, companion, group, relative]), ['true', orphan, 'true', orphan])
    t.same(await messagesOf([family, guest(), relative]), ['true', 'true', orphan])
    t.same(await messagesOf([guest({ tipo: '17', sesso: '9' }), relative, relative]), ['Sesso Errato', orphan, orphan])
    t.same(await messagesOf([family, member({ sesso: '9' }), relative]), ['true', 'Sesso Errato', 'true'])
    t.same(await messagesOf([relative, family]), [orphan, 'true'])
  })

  t.test('members must have the arrival of their leader and no document', async (t) => {
    const leader = guest({ tipo: '17' })
    t.same(await messagesOf([leader, member({ arrivo: '20/11/2026' })]), ['true', 'Data di Arrivo Errata'])
    t.same(await messagesOf([leader, member({ documento: 'IDENT' })]), ['true', 'Tipo Documento Errato'])
    t.same(await messagesOf([leader, member({ numero: 'CA1' })]), ['true', 'Numero Documento non valido'])
    t.same(await messagesOf([leader, member({ rilascio: '412058091' })]), ['true', 'Luogo di Rilascio Errato'])
  })
})

t.test('receipts', async (t) => {
  const { db } = await testDatabase(t)
  const clock = clockAt('2026-11-20T10:00:00Z')
  const { call, token: getToken } = await sandbox(t, db, clock)

  const receiptOf = async (date: string) =>
    (await call('Ricevuta', `${session(await getToken())}<a:Data>${date}</a:Data>`)).text

  const send = async (rows: string[]) => call('Send', session(await getToken()) + list(rows))

  await send([guest({ arrivo: '20/11/2026', giorni: '05' }), guest({ arrivo: '20/11/2026', sesso: 'X', giorni: '09' })])
  clock.set('2026-11-21T22:59:00Z')
  await send([guest({ tipo: '17', giorni: '03' }), member({ giorni: '03' }), guest({ giorni: ' 1' })])
  // In UTC it is still the 21st, but in Rome already the 22nd.
  clock.set('2026-11-21T23:01:00Z')
  await send([guest({ arrivo: '22/11/2026', giorni: '07' })])

  t.test('a day has no receipt until it ends, and none if it has no schedine', async (t) => {
    isMissing(t, await receiptOf('2026-11-22T00:00:00'))
    isMissing(t, await receiptOf('2026-11-19T00:00:00'))
    isMissing(t, await receiptOf('2026-12-01T00:00:00'))
  })

  t.test('a receipt has the number of schedine and nights that were acquired on the day in Rome', async (t) => {
    const lines = await linesOf(t, Buffer.from(first(await receiptOf('2026-11-21T00:00:00'), 'PDF'), 'base64'))
    t.equal(lines[0], 'AMBIENTE DI PROVA - SENZA VALORE')
    for (const line of [
      'RICEVUTA DI INVIO',
      'LOGIN RM000001',
      'ID. RICEVUTA 2026/000002 [RM]',
      'DATA DI INVIO 21/11/2026',
      'SCHEDINE INVIATE 3',
      'GG PERMANENZA PRESUNTA TOT. 7',
      'ALLA QUESTURA DI ROMA'
    ]) {
      t.ok(lines.includes(line), line)
    }
    for (const line of [
      /^CATEGORIA ./,
      /^STRUTTURA ./,
      /^COMUNE ./,
      /^INDIRIZZO ./,
      /^P\.IVA-C\.F\. ./,
      /^Codice di Controllo [0-9A-F]{24}$/
    ]) {
      t.ok(lines.some((one) => line.test(one)), String(line))
    }
  })

  t.test('a receipt is available for thirty days', async (t) => {
    clock.set('2026-12-21T10:00:00Z')
    t.same(outcomes(await receiptOf('2026-11-21T00:00:00')), ['true'])
    isMissing(t, await receiptOf('2026-11-20T00:00:00'))
  })
})

async function linesOf (t: Test, pdf: Buffer): Promise<string[]> {
  const task = getDocument({ data: new Uint8Array(pdf), isEvalSupported: false, verbosity: 0 })
  const document = await task.promise
  t.equal(document.numPages, 1)
  const { items } = await (await document.getPage(1)).getTextContent()
  await task.destroy()
  return items.map((item) => 'str' in item ? item.str : '').filter((text) => text !== '')
}

function isMissing (t: Test, xml: string): void {
  t.match(outcomes(xml), [/^false 51 ERRORE_RECUPERO_RICEVUTA ./])
  t.same(every(xml, 'PDF'), [])
}

t.test('SOAP messages', async (t) => {
  const { db, close } = await testDatabase(t)
  const { post, call, token: getToken } = await sandbox(t, db, clockAt(NOW))
  const [prefix, rows] = [session(await getToken()), list([guest()])]
  const good = `<a:Test>${prefix}${rows}</a:Test>`

  t.test('a malformed request is a Sender fault', async (t) => {
    for (const [title, document] of Object.entries({
      'a DOCTYPE': '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + envelope(good).replace(/^<\?.*?\?>/, ''),
      'an operation without the namespace': envelope(`<Test>${prefix}${rows}</Test>`),
      'two elements in the body': envelope(good + good),
      'an entity that is not declared': envelope(`<a:Test>&entity;${prefix}</a:Test>`),
      'an empty body': ''
    })) {
      const { status, text } = await post(document, HEADERS)
      t.equal(status, 500, title)
      t.match(text, /soap:Sender<.*Server was unable to read request/s, title)
    }
  })

  t.test('a media type other than SOAP is answered with a 415, and a body over 4 MiB with a 413', async (t) => {
    const body = envelope(good)
    t.equal((await post(body, { 'content-type': 'application/json' })).status, 415)
    t.equal((await post(' '.repeat(4 * 1024 * 1024 + 1), HEADERS)).status, 413)
  })

  t.test('an internal error of the sandbox is a Receiver fault without details', async (t) => {
    await close()
    const { status, text } = await call('GenerateToken', login())
    t.equal(status, 500)
    t.match(text, /soap:Receiver<.*>Server was unable to process request\.</s)
  })
})
