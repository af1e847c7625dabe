import t from 'tap'
import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { Block, Unit } from '#schemas/unit.ts'
import { create } from '#test/bookings/samples.ts'
import { errorOf } from '#test/identity/pages/visitor.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const server = await buildDesk(t)
const { app, call } = server
const PAGE = '/impostazioni'
const NEW = `${PAGE}/unita/nuova`
const NEW_HOUSE = `${PAGE}/strutture/nuova`
const browser = await signedIn(server)
const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })

async function units (): Promise<Unit[]> {
  return (await call('GET', '/api/v1/unita')).json<{ data: Unit[] }>().data
}

async function asAdmin (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) {
  const authorization = `Bearer ${await server.token({ role: 'admin' })}`
  return await app.inject({ method, url, headers: { authorization }, ...payload && { payload } })
}

t.test('an empty house leads from Oggi to its first unit', async (t) => {
  await browser.open('/oggi')
  t.match(browser.page().body, `href="${NEW}">Aggiungi un’unità`)
  await browser.open(PAGE)
  t.match(browser.page().body, /aria-current="page">Impostazioni/)
  t.match(browser.page().body, 'Nessuna unità ancora')
  await browser.open(NEW)
  await browser.submit(NEW, { nome: '', ospiti_massimi: 'due' })
  t.equal(browser.page().statusCode, 400)
  t.match(errorOf(browser.page().body, 'f-ospiti_massimi'), 'numero intero')
  await browser.submit(NEW, { nome: 'Rosa', ospiti_massimi: '3' })
  t.match(browser.page().path, `${PAGE}?esito=creato`)
  t.match(await units(), [{ nome: 'Rosa', tipo: 'camera', ospiti_massimi: 3, posti_letto: 3 }])
  await browser.open('/oggi')
  t.notMatch(browser.page().body, NEW)
})

t.test('units are changed, moved up, and deleted unless a booking names them', async (t) => {
  for (const nome of ['Viola', 'Zinnia']) {
    await browser.open(NEW)
    await browser.submit(NEW, { nome })
  }
  await browser.open(PAGE)
  const zinnia = (await units()).find(({ nome }) => nome === 'Zinnia')!
  await browser.submit(`${PAGE}/unita/${zinnia.id}/su`)
  t.same((await units()).map(({ nome }) => nome), ['Rosa', 'Zinnia', 'Viola'])
  const page = `${PAGE}/unita/${zinnia.id}`
  await browser.open(page)
  await browser.submit(page, { gruppo: 'Primo piano', posti_letto: '' })
  t.ok(errorOf(browser.page().body, 'f-posti_letto'))
  await browser.submit(page, { posti_letto: '4' })
  t.match(browser.page().body, '<i class="chip">Primo piano</i>')
  await create(call, { check_in: '2026-12-01', unita_id: zinnia.id })
  await browser.open(page)
  await browser.submit(`${page}/elimina`)
  t.match(browser.page(), { statusCode: 409, body: /role="alert">L’unità ha 1 prenotazione</ })
  t.match(browser.page().body, '<details open><summary>Elimina', 'the way on is in sight')
  const viola = (await units()).find(({ nome }) => nome === 'Viola')!
  await browser.open(`${PAGE}/unita/${viola.id}`)
  await browser.submit(`${PAGE}/unita/${viola.id}/elimina`)
  t.match(browser.page().body, 'Eliminato.')
  t.same((await units()).map(({ nome }) => nome), ['Rosa', 'Zinnia'])
})

t.test('a unit that was deleted meanwhile is not moved', async (t) => {
  const { id } = (await call('POST', '/api/v1/unita', {
    nome: 'Iris', tipo: 'camera', ospiti_massimi: 2, ordine: 9
  })).json<{ data: Unit }>().data
  await browser.open(PAGE)
  await call('DELETE', `/api/v1/unita/${id}`)
  await browser.submit(`${PAGE}/unita/${id}/su`)
  t.match(browser.page(), { statusCode: 404, body: 'Unità non trovata' })
})

t.test('the nights of a unit are blocked and released on its page', async (t) => {
  const [{ id } = { id: 0 }] = await units()
  const page = `${PAGE}/unita/${id}`
  await browser.open(page)
  t.match(browser.page().body, 'Nessun blocco')
  await browser.submit(`${page}/blocchi`, { dal: '2026-12-05', al: '2026-12-05', motivo: 'manutenzione' })
  t.match(errorOf(browser.page().body, 'f-al'), 'deve essere dopo «Prima notte»')
  await browser.submit(`${page}/blocchi`, { al: '2026-12-08' })
  t.match(browser.page().body, '05/12/2026 – 08/12/2026')
  await browser.submit(`${page}/blocchi`, { dal: '2026-12-06', al: '2026-12-07', motivo: 'altro' })
  t.match(browser.page(), { statusCode: 409, body: /occupata/ })
  const { data } = (await call('GET', `/api/v1/blocchi?unita_id=${id}`)).json<{ data: Block[] }>()
  t.equal(data.length, 1)
  await browser.submit(`${page}/blocchi/${data[0]!.id}/elimina`)
  t.match(browser.page().body, 'Nessun blocco')
})

t.test('an administrator changes the establishment, and an operator only reads it', async (t) => {
  const page = `${PAGE}/strutture/1`
  await admin.open(page)
  await admin.submit(page, { nome: 'Casa del Porto', comune: 'Como' })
  t.ok(errorOf(admin.page().body, 'f-comune'))
  await admin.submit(page, { comune: '013075', tipo: 'casa_vacanze' })
  t.match(admin.page(), { path: `${page}?esito=salvato`, body: '<h1>Casa del Porto</h1>' })
  await asAdmin('PUT', '/api/v1/strutture/1', { indirizzo: 'Lungolago 4' })
  await admin.open(page)
  await asAdmin('PUT', '/api/v1/strutture/1', { indirizzo: 'Lungolago 5' })
  await admin.submit(page, { indirizzo: 'Lungolago 6' })
  t.match(admin.page(), { statusCode: 412, body: '<td>Lungolago 5</td><td>Lungolago 6</td>' })
  await admin.submit(page)
  const { data } = (await call('GET', '/api/v1/strutture/1')).json<{ data: EstablishmentRecord }>()
  t.match(data, { nome: 'Casa del Porto', comune: '013075', indirizzo: 'Lungolago 6' })
  await browser.open(page)
  t.match(browser.page().body, '<th scope="row">Indirizzo</th><td>Lungolago 6</td>')
  t.notMatch(browser.page().body, `action="${page}"`)
})

t.test('the police account is tested in one click, and its state is in words', async (t) => {
  await browser.open(PAGE)
  t.match(browser.page().body, 'nulla arriva alla Polizia')
  t.notMatch(browser.page().body, 'Amministrazione')
  await browser.submit(`${PAGE}/prova`)
  t.match(browser.page().body, 'La Polizia risponde e accetta l’account.')
  await admin.open(PAGE)
  await admin.submit('/auth/account/amministrazione')
  t.match(admin.page(), { path: '/ad/', statusCode: 200, body: /<nav .*href="\/oggi">Oggi.*aria-current="true">Impost/s })
  await admin.open('/oggi')
  t.match(admin.page(), { path: '/oggi', statusCode: 200 })
})

t.test('a further establishment gets its own account, or uses the account of another one', async (t) => {
  await browser.open(PAGE)
  t.notMatch(browser.page().body, NEW_HOUSE, 'only administrators add one')
  await browser.open(NEW_HOUSE)
  t.notMatch(browser.page().body, '<form class="form"')
  await admin.open(PAGE)
  t.match(admin.page().body, `href="${NEW_HOUSE}">Aggiungi una struttura`)
  await admin.open(NEW_HOUSE)
  await admin.submit(NEW_HOUSE, { comune: 'Como' })
  t.ok(errorOf(admin.page().body, 'f-comune'))
  await admin.submit(NEW_HOUSE, { nome: 'Casa del Bosco', comune: '' })
  t.match(admin.page().body, /Creato.*<h2 id="polizia">/s)
  const page = admin.page().path.replace(/[?#].*/, '')
  await admin.open(PAGE)
  t.match(admin.page().body, 'Manca l’account della Polizia')
  await admin.open(page)
  await admin.submit(`${page}/polizia`, { utente: 'CO000002', password: 'segreta-1' })
  t.match(admin.page().statusCode, 400)
  t.match(errorOf(admin.page().body, 'account-f-wskey'), 'obbligatorio')
  t.notMatch(admin.page().body, 'segreta-1', 'a page never has a typed password')
  await admin.submit(`${page}/polizia`, { utente: '', di_struttura: '1' })
  t.match(admin.page().body, 'di un’altra struttura')
  await admin.submit(`${page}/polizia`, { di_struttura: '', utente: 'CO000002', password: 'x', wskey: 'y' })
  t.match(admin.page().body, 'l’account CO000002, salvato qui')
  await admin.submit(`${page}/prova`)
  t.match(admin.page().body, /Ultima prova|role="alert"/)
  await browser.open(page)
  t.notMatch(browser.page().body, `action="${page}/polizia"`)
  await browser.open(`${PAGE}/unita/nuova`)
  t.match(browser.page().body, 'Casa del Bosco</option>')
})

t.test('the form of a unit says which fields may stay empty', async (t) => {
  await browser.open(NEW)
  const { body } = browser.page()
  t.match(body, /<label for="f-gruppo">Gruppo <small>facoltativo/)
  t.notMatch(body, /<label for="f-nome">Nome <small>/)
})
