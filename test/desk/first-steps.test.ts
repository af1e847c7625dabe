import t from 'tap'
import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { Unit } from '#schemas/unit.ts'
import { create } from '#test/bookings/samples.ts'
import { errorOf } from '#test/identity/pages/visitor.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const TITLE = 'Per cominciare'

/** The step that is open, and the steps that are done. */
function stepsOf (body: string): { open: string | undefined, done: string[] } {
  const steps = [...body.matchAll(/id="passo-(\w+)"( open)?><summary>(.*?)<\/summary>/g)]
  return {
    open: steps.find(([, , isOpen]) => isOpen !== undefined)?.[1],
    done: steps.filter(([, , , summary]) => summary!.includes('>fatto<')).map(([, step]) => step!)
  }
}

t.test('Oggi leads an administrator through the first steps, and each form returns to the next one', async (t) => {
  const server = await buildDesk(t)
  const { call } = server
  const units = async () => (await call('GET', '/api/v1/unita')).json<{ data: Unit[] }>().data
  const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })
  t.match(admin.page().body, TITLE)
  t.same(stepsOf(admin.page().body), { open: 'struttura', done: [] })

  const house = '/impostazioni/strutture/1'
  await admin.submit(house, { nome: 'Casa del Porto', comune: 'Como', tipo: 'affittacamere' })
  t.ok(errorOf(admin.page().body, 'f-comune'), 'a refused form is on the page of the establishment')
  await admin.submit(house, { comune: '013075', cin: 'IT013075B2D3E4F5G6', indirizzo: 'Lungolago 4' })
  t.match(admin.page(), { path: '/oggi?esito=salvato', body: 'Salvato.' })
  t.same(stepsOf(admin.page().body), { open: 'unita', done: ['struttura'] })
  const { data } = (await call('GET', '/api/v1/strutture/1')).json<{ data: EstablishmentRecord }>()
  t.match(data, { nome: 'Casa del Porto', comune: '013075', cin: 'IT013075B2D3E4F5G6', tipo: 'affittacamere' })

  for (const quante of ['0', '51', 'tre', '']) {
    await admin.submit('/oggi/inizio/unita', { quante })
    t.equal(admin.page().statusCode, 400)
    t.match(errorOf(admin.page().body, 'unita-f-quante'), 'da 1 a 50')
  }
  await admin.submit('/oggi/inizio/unita', { quante: '3', ospiti_massimi: '0' })
  t.ok(errorOf(admin.page().body, 'unita-f-ospiti_massimi'))
  t.equal((await units()).length, 0)
  const twice = admin.page()
  const [, chiave = ''] = /action="\/oggi\/inizio\/unita">.*?name="chiave" value="([^"]*)"/s.exec(twice.body) ?? []
  await admin.submit('/oggi/inizio/unita', { ospiti_massimi: '2' })
  t.match(await units(), ['Camera 1', 'Camera 2', 'Camera 3'].map((nome) => ({ nome, ospiti_massimi: 2 })))
  t.same(stepsOf(admin.page().body), { open: 'polizia', done: ['struttura', 'unita'] })
  await admin.submit('/oggi/inizio/unita', { quante: '3', chiave })
  t.equal((await units()).length, 3, 'a repeated form adds no units')

  await admin.open('/oggi')
  t.match(admin.page().body, 'nulla arriva alla Polizia')
  await admin.submit(`${house}/prova`)
  t.match(admin.page(), { path: '/oggi?esito=collegata', body: 'La Polizia risponde e accetta l’account.' })
  t.same(stepsOf(admin.page().body), { open: 'prenotazione', done: ['struttura', 'unita', 'polizia'] })
  t.match(admin.page().body, 'href="/prenotazioni/nuova?giorno=2026-11-28">Nuova prenotazione')
  await create(call, { check_in: '2026-11-28' })
  await admin.open('/oggi')
  t.notMatch(admin.page().body, TITLE)
  t.match(admin.page().body, 'di 1 arrivo')
})

t.test('a step can be skipped, and all can be dismissed permanently', async (t) => {
  const server = await buildDesk(t)
  const operator = await signedIn(server)
  t.notMatch(operator.page().body, TITLE, 'an operator cannot change these data')
  const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })
  t.match(admin.page().body, 'href="/oggi?passo=unita#passo-unita">Salta per ora')
  await admin.open('/oggi?passo=unita')
  t.same(stepsOf(admin.page().body), { open: 'unita', done: [] })
  t.equal((await admin.open('/oggi?passo=altro')).page().statusCode, 400)
  await admin.open('/oggi?giorno=2026-11-30')
  t.notMatch(admin.page().body, TITLE)
  await create(server.call, { check_in: '2026-11-28' })
  await admin.open('/oggi')
  t.match(admin.page().body, new RegExp(`${TITLE}.*di 1 arrivo`, 's'), 'the day is below the steps')
  await admin.submit('/oggi/inizio/chiudi')
  t.match(admin.page(), { path: '/oggi', statusCode: 200 })
  t.notMatch(admin.page().body, TITLE)
  const other = await signedIn(server, 'bea@example.org', { role: 'admin' })
  t.notMatch(other.page().body, TITLE)
})
