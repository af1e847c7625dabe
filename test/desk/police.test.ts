import t from 'tap'
import { addDays } from '#src/lib/time.ts'
import { plainResponse } from '#test/alloggiati/service/soap/calls.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { ledgerServer, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { errorOf } from '#test/identity/pages/visitor.ts'
import { signedIn } from './desk-visitor.ts'

const today = testClock().today()
const { police, server } = await ledgerServer(t, { RATE_LIMIT_LOGIN_MAX: '1000' })
const { call } = server
const administrator = await signedIn(server, 'ada@example.org', { role: 'admin' })
const POLICE = '/polizia'

t.test('a house without guests has no tasks, and a day without submissions says so', async (t) => {
  await administrator.open(POLICE)
  const { statusCode, body } = administrator.page()
  t.equal(statusCode, 200)
  t.match(body, 'Tutti gli ospiti arrivati sono comunicati.')
  t.match(body, 'Nessun invio per gli arrivi di questi giorni.')
  t.match(body, 'Account RM000001')
})

t.test('an incomplete booking names what is missing, with a link to the guest', async (t) => {
  const { id } = await create(call, { check_in: today, nome_cognome: 'Carlo Verdi', numero_ospiti: 1 })
  await saveGuests(call, id, [guestNo(30, { luogo_rilascio: '' })])
  await administrator.open(POLICE)
  const { body } = administrator.page()
  t.match(body, `<a class="reason" href="/prenotazioni/${id}#f-dati-0-luogo_rilascio">manca il `)
  t.match(body, '>Completa<span class="sr"> Carlo Verdi</span></a>')
  t.match(body, /<b>1<\/b><span>ospite da comunicare, (?:entro|scadenza passata:) /)
  await saveGuests(call, id, [guestNo(30)])
  await administrator.open(POLICE)
  t.match(administrator.page().body, `href="/oggi/invio?giorno=${today}&amp;prenotazione=${id}">Invia<`)
  t.equal((await call('POST', `/api/v1/prenotazioni/${id}/invio`)).statusCode, 200)
  await administrator.open(POLICE)
  t.match(administrator.page().body, /Carlo Verdi<small>1 ospite · AW-[^]*<i class="chip ok">acquisito<\/i>/)
  t.match(administrator.page().body, '<b>1</b><span>prenotazione in attesa della ricevuta</span>')
  for (const n of [31, 32]) {
    const { id } = await create(call, { check_in: today, numero_ospiti: 1 })
    await saveGuests(call, id, [guestNo(n)])
  }
  t.equal((await call('POST', '/api/v1/invii/giornata', {})).statusCode, 200)
  await administrator.open(POLICE)
  t.match(administrator.page().body, />AW-[\d-]+<small>2 ospiti<\/small>/, 'a reference is shown once')
})

t.test('a late arrival is filed with the file for certified mail, whose protocol number is noted', async (t) => {
  const { id } = await create(call, { check_in: addDays(today, -5), nome_cognome: 'Elsa Blu', numero_ospiti: 1 })
  const page = `${POLICE}/pec/${id}`
  await administrator.open(page)
  t.match(administrator.page().body, /Prima completare questi dati:/)
  await saveGuests(call, id, [guestNo(40)])
  await administrator.open(POLICE)
  t.match(administrator.page().body, `href="${page}">Via PEC<span class="sr"> Elsa Blu</span>`)
  await administrator.open(`${page}/file`)
  t.match(administrator.page(), {
    statusCode: 200, headers: { 'content-type': 'text/plain; charset=utf-8', 'content-disposition': 'attachment' }
  })
  await administrator.open(page)
  await administrator.submit(page, { protocollo: 'PEC 4711', motivo: 'corto' })
  t.match(errorOf(administrator.page().body, 'f-motivo'), /10 caratteri/)
  await administrator.submit(page, { protocollo: 'PEC 4711', motivo: 'Arrivo inserito in ritardo' })
  t.match(administrator.page().path, /^\/polizia\/invii\/\d+$/)
  t.match(administrator.page().body, '<i class="chip ok">per altra via</i>')
})

t.test('an administrator decides about an unknown outcome on a page that names the check to make first', async (t) => {
  const id = await unknown(police, server, [guestNo(50)])
  const page = `${POLICE}/invii/${id}`
  const operator = await signedIn(server, 'olga@example.org')
  await operator.open(page)
  t.match(operator.page().body, 'Decide un amministratore.')
  await administrator.open(POLICE)
  t.match(administrator.page().body, `href="${page}">Decidi`)
  await administrator.open('/avvisi')
  t.match(administrator.page().body, /Esito da decidere: AW-[^]*Finché non si decide/)
  await administrator.open(page)
  t.match(administrator.page().body, 'Aprire il portale Alloggiati Web')
  const decided = { decisione: 'acquisito', motivo: 'Visto sul portale alle 9', conferma: `1 ospite ${today}` }
  await administrator.submit(`${page}/decisione`, { ...decided, conferma: 'sì' })
  t.match(errorOf(administrator.page().body, 'f-conferma'), `deve essere «1 ospite ${today}»`)
  t.match(administrator.page().body, 'Visto sul portale alle 9', 'the typed reason is kept')
  await administrator.submit(`${page}/decisione`, { conferma: decided.conferma, decisione: 'acquisito' })
  t.equal(administrator.page().path, `${page}?esito=deciso`)
  t.match(administrator.page().body, '<i class="chip ok">acquisito</i>')
  await administrator.submit(`${page}/correzione`, { motivo: 'Chiesta la data di nascita giusta' })
  t.match(administrator.page().body, 'Richiesta annotata.')
})

t.test('an administrator suspends and resumes sending, and an operator reads why', async (t) => {
  const operator = await signedIn(server, 'ugo@example.org')
  await administrator.open(POLICE)
  await administrator.submit(`${POLICE}/sospensione`, { motivo: 'Controllo le ricevute' })
  t.match(administrator.page().body, /Gli invii sono sospesi\.<\/p>/)
  await operator.open(POLICE)
  t.match(operator.page().body, /nessun ospite viene comunicato\. Motivo: Controllo le ricevute/)
  t.notMatch(operator.page().body, `action="${POLICE}/sospensione"`)
  await operator.open('/avvisi')
  t.match(operator.page().body, 'Nessun ospite viene comunicato finché non si riprende.')
  await administrator.submit(`${POLICE}/sospensione`, { motivo: 'Ricevute a posto' })
  t.match(administrator.page().body, 'Gli invii sono ripresi.')
})

t.test('the check of the connection says whether the service accepts the credentials', async (t) => {
  await administrator.open(POLICE)
  await administrator.submit(`${POLICE}/prova`)
  t.match(administrator.page().body, 'Connessione riuscita')
  police.on.GenerateToken = (socket) => socket.resetAndDestroy()
  await administrator.submit(`${POLICE}/prova`)
  t.equal(administrator.page().statusCode, 503)
  t.match(administrator.page().body, /<p class="alarm" role="alert">[^<]+/)
  delete police.on.GenerateToken
})

t.test('a receipt is downloaded by its day, and a day without one shows an error page', async (t) => {
  const pdf = Buffer.from('%PDF-1.4 prova')
  police.on.Ricevuta = response(
    plainResponse('Ricevuta').replace('</RicevutaResponse>', `<PDF>${pdf.toString('base64')}</PDF></RicevutaResponse>`)
  )
  await administrator.open(`${POLICE}/ricevute/${addDays(today, -3)}`)
  const { headers, rawPayload } = administrator.page()
  t.equal(headers['content-type'], 'application/pdf')
  t.match(headers['content-disposition'], 'attachment; filename=ricevuta_')
  t.ok(rawPayload.equals(pdf))
  await administrator.open(`${POLICE}/ricevute/${addDays(today, 3)}`)
  t.match(administrator.page(), { statusCode: 404, body: /<h1>/ })
})

t.test('if there are several establishments, each task names the establishment of its booking', async (t) => {
  const { id } = await create(call, { check_in: today, nome_cognome: 'Dora Neri', numero_ospiti: 1 })
  await administrator.open(POLICE)
  t.match(administrator.page().body, /Dora Neri<small>[^<]* · 1 ospite<\/small>/)
  const [house] = await server.app.sql<[{ id: number }]>`
    insert into struttura (nome) values ('Casa del Porto') returning id`
  const unit = { nome: 'Alloggio 1', tipo: 'camera', ospiti_massimi: 2, struttura_id: house.id }
  const { data } = (await call('POST', '/api/v1/unita', unit)).json<{ data: { id: number } }>()
  t.equal((await call('PUT', `/api/v1/prenotazioni/${id}`, { unita_id: data.id })).statusCode, 200)
  await administrator.open(POLICE)
  t.match(administrator.page().body, /Dora Neri<small>[^<]* · 1 ospite · Casa del Porto<\/small>/)
})

t.test('the pages are in the language of the person', async (t) => {
  for (const [language, word] of [['en', 'To do now'], ['de', 'Jetzt zu tun'], ['fr', 'À faire maintenant']] as const) {
    const browser = await signedIn(server, `pia-${language}@example.org`, { language })
    await browser.open(POLICE)
    t.match(browser.page().body, word)
  }
})
