import t from 'tap'
import type { Unit } from '#schemas/unit.ts'
import { addDays } from '#src/lib/time.ts'
import { member, single } from '#test/alloggiati/rules/samples.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { formsOf } from '#test/identity/pages/visitor.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const DAY = '2026-11-28'
const CHECK = '/oggi/invio'
const server = await buildDesk(t)
const { call } = server

let guests = 0
/** A complete guest with a new name. */
function guest () {
  const n = guests++
  return single({ cognome: `PAGINA ${String.fromCharCode(65 + n)}`, numero_documento: `CB0${n + 1000}AA` })
}

async function book (changes: object, saved: object[]): Promise<number> {
  const { id } = await create(call, { check_in: DAY, numero_ospiti: 1, ...changes })
  if (saved.length > 0) await saveGuests(call, id, saved)
  return id
}

/** The row of a booking, as text with its links. */
function rowOf (body: string, name: string): string {
  return body.split('<li').find((each) => each.includes(name))?.split('</li>')[0] ?? ''
}

t.test('an empty day offers a booking on that day', async (t) => {
  const { body } = (await signedIn(server, 'vuoto@example.org')).page()
  t.match(body, 'una giornata tranquilla')
  t.match(body, `href="/prenotazioni/nuova?giorno=${DAY}"`)
})

t.test('the day shows the open tasks, and each row its next step', async (t) => {
  const room = (await call('POST', '/api/v1/unita', { nome: 'Glicine', tipo: 'camera', ospiti_massimi: 2 }))
    .json<{ data: Unit }>().data
  const ready = await book({ nome_cognome: 'Rita Pronta', unita_id: room.id, numero_notti: 1 }, [guest()])
  const parents = { ...guest(), tipo_alloggiato: '17' }
  const child = member('19', 'FIGLIO', { cognome: parents.cognome, sesso: '' })
  const incomplete = await book({ nome_cognome: 'Ivo Manca', numero_ospiti: 3 }, [parents, child])
  const empty = await book({ nome_cognome: 'Vera Vuota' }, [])
  await book({ nome_cognome: 'Pia Parte', check_in: addDays(DAY, -2), numero_notti: 2 }, [])
  await book({ nome_cognome: 'Nino No', stato: 'annullata' }, [])

  const browser = await signedIn(server, 'anna@example.org')
  const { body } = browser.page()
  t.match(body, '<b>3</b><span>di 3 arrivi da accogliere</span>')
  t.match(body, /<li class="act"><b>5<\/b><span>di 5 ospiti da inviare, (entro le 20:00|il termine era)/)
  t.match(body, '<b>1</b><span>partenza</span>')
  t.match(rowOf(body, 'Rita Pronta'), '<span class="unit">Glicine</span>')
  const send = `${CHECK}?giorno=${DAY}&amp;prenotazione=${ready}`
  t.match(rowOf(body, 'Rita Pronta'), `class="next primary" href="${send}">Invia<`)
  t.match(rowOf(body, 'Ivo Manca'), 'manca il sesso di 1 ospite')
  t.match(rowOf(body, 'Ivo Manca'), 'mancano i dati di 1 ospite')
  t.match(rowOf(body, 'Ivo Manca'), `class="next" href="/prenotazioni/${incomplete}#f-dati-1-sesso">Completa<`)
  t.match(rowOf(body, 'Vera Vuota'), `href="/scansione/${empty}/0">Scansiona<`)
  t.match(rowOf(body, 'Nino No'), 'annullata')
  t.match(body, `href="${CHECK}?giorno=${DAY}">Controlla e invia tutte (1 ospite)<`)

  const page = (await browser.open(`/prenotazioni/${incomplete}`)).page().body
  t.match(page, 'id="f-dati-1-sesso"', 'the page of the booking has the missing field')
  t.equal((await browser.open(`/scansione/${empty}/0`)).page().statusCode, 200)

  const english = await signedIn(server, 'eve@example.org', { language: 'en' })
  t.match(rowOf(english.page().body, 'Ivo Manca'), 'missing: the sex of 1 guest')
  const tomorrow = (await browser.open(`/oggi?giorno=${addDays(DAY, 1)}`)).page()
  t.match(tomorrow.body, '<h1>Domenica 29 novembre</h1>')
  t.notMatch(tomorrow.body, 'Controlla e invia', 'guests of a later day cannot be sent yet')
  t.equal((await browser.open('/oggi?giorno=2026-02-30')).page().statusCode, 400)
})

t.test('an earlier arrival that was never sent is an alarm of today, and of no other day', async (t) => {
  const text = '1 prenotazione arrivata prima di oggi è ancora da sistemare con la Polizia.'
  const browser = await signedIn(server, 'tarda@example.org')
  const before = browser.page().body
  t.match(before, text, 'the guests of Pia Parte were never sent')
  t.match(before, '<a href="/polizia">Apri Polizia</a>')
  const late = await book({ nome_cognome: 'Lia Lascia', check_in: addDays(DAY, -1), numero_notti: 3 }, [])
  t.match((await browser.open('/oggi')).page().body, '2 prenotazioni arrivate prima di oggi')
  t.notMatch((await browser.open(`/oggi?giorno=${addDays(DAY, 1)}`)).page().body, 'prima di oggi')
  await call('PUT', `${BOOKINGS}/${late}`, { stato: 'annullata' })
})

t.test('the check lists what would be sent and what is missing, and Send shows the outcome', async (t) => {
  const browser = await signedIn(server, 'ada@example.org')
  const { body } = (await browser.open(`${CHECK}?giorno=${DAY}`)).page()
  t.match(body, 'Invia 1 ospite</button>')
  t.match(rowOf(body, 'Rita Pronta'), '1 di 1 ospite')
  t.match(rowOf(body, 'Ivo Manca'), 'mancano i dati di 1 ospite')
  const late = await book({ nome_cognome: 'Luca Tardi' }, [guest()])

  await browser.submit(CHECK)
  const outcome = browser.page()
  t.match(outcome.path, `/oggi/esito?giorno=${DAY}&prenotazioni=`)
  t.match(outcome.body, '1 prenotazione acquisita. La ricevuta arriva il giorno dopo')
  t.match(rowOf(outcome.body, 'Rita Pronta'), 'acquisita')
  t.notMatch(outcome.body, 'Luca Tardi', 'a booking that the person did not see is not sent')
  await browser.open('/oggi')
  t.match(rowOf(browser.page().body, 'Rita Pronta'), /class="done">.*inviata.*class="next" .*Apri/s)

  await browser.open(`${CHECK}?giorno=${DAY}&prenotazione=${late}`)
  t.notMatch(browser.page().body, 'Ivo Manca', 'a single booking is checked alone')
  await browser.submit(CHECK)
  t.match(rowOf(browser.page().body, 'Luca Tardi'), 'acquisita')
  await browser.open(`${CHECK}?giorno=${DAY}`)
  t.match(browser.page().body, 'Nessuna prenotazione è pronta')
  t.notMatch(browser.page().body, '</button>')
})

t.test('a Send that is repeated sends no guest twice', async (t) => {
  await book({ nome_cognome: 'Dino Doppio' }, [guest()])
  const browser = await signedIn(server, 'bea@example.org')
  const first = await browser.open(`${CHECK}?giorno=${DAY}`)
  const key = /name="chiave" value="([^"]*)"/.exec(first.page().body)![1]!
  const ids = /name="prenotazioni" value="([^"]*)"/.exec(first.page().body)![1]!
  await browser.submit(CHECK)
  await book({ nome_cognome: 'Altra' }, [guest()])
  await browser.open(`${CHECK}?giorno=${DAY}`)
  await browser.submit(CHECK, { chiave: key, prenotazioni: ids })
  t.match(rowOf(browser.page().body, 'Dino Doppio'), 'acquisita')
  const { data } = (await call('GET', `/api/v1/invii?prenotazione_id=${ids}`)).json<{ data: object[] }>()
  t.equal(data.length, 1)
  t.equal((await call('GET', BOOKINGS)).statusCode, 200)
})

t.test('two submits of a form at once both lead to the outcome, and send once', async (t) => {
  const id = await book({ nome_cognome: 'Nora Due Clic' }, [guest()])
  const browser = await signedIn(server, 'nora@example.org')
  await browser.open(`${CHECK}?giorno=${DAY}&prenotazione=${id}`)
  const { fields } = formsOf(browser.page().body).find(({ action }) => action === CHECK)!
  const click = async () => await server.app.inject({
    method: 'POST',
    url: CHECK,
    headers: {
      accept: 'text/html', cookie: browser.cookie(), 'content-type': 'application/x-www-form-urlencoded'
    },
    payload: new URLSearchParams([...fields]).toString()
  })
  const outcome = { statusCode: 303, headers: { location: /^\/oggi\/esito/ } }
  t.match(await Promise.all([click(), click()]), [outcome, outcome])
  const { data } = (await call('GET', `/api/v1/invii?prenotazione_id=${id}`)).json<{ data: object[] }>()
  t.equal(data.length, 1)
})

t.test('while sending is suspended, Send shows the suspension and changes no booking', async (t) => {
  const authorization = `Bearer ${await server.token({ role: 'admin' })}`
  const stopped = await server.app.inject({
    method: 'POST',
    url: '/api/v1/invii/sospensione',
    headers: { authorization },
    payload: { sospeso: true, motivo: 'Una prova' }
  })
  t.equal(stopped.statusCode, 200)
  await book({ nome_cognome: 'Sara Sosta' }, [guest()])
  const browser = await signedIn(server, 'cleo@example.org')
  await browser.open(`${CHECK}?giorno=${DAY}`)
  await browser.submit(CHECK)
  t.match(browser.page().body, /role="alert">[^<]*sospes/)
  t.match(rowOf(browser.page().body, 'Sara Sosta'), '1 di 1 ospite')
})

t.test('in production Send asks once more, and the outcome names what is refused and what is unknown', async (t) => {
  const police = await standIn(t)
  const real = await production(t, police, { RATE_LIMIT_LOGIN_MAX: '1000' })
  const today = testClock().today()
  const arriving = async (nome_cognome: string) => {
    const { id } = await create(real.call, { nome_cognome, check_in: today, numero_ospiti: 1 })
    await saveGuests(real.call, id, [guest()])
  }
  await arriving('Rino Rifiutato')
  const browser = await signedIn(real, 'dora@example.org')
  t.notMatch(browser.page().body, 'class="mode"')
  const sendAll = async () => {
    await browser.open(CHECK)
    t.notMatch(browser.page().body, '<form class="action"', 'the check alone cannot send')
    await browser.open(`${CHECK}?giorno=${today}&conferma=1`)
    t.match(browser.page().body, 'Inviare 1 ospite alla Polizia di Stato? Un invio non si può annullare.')
    t.same(police.callsOf('Send'), [])
    await browser.submit(CHECK)
    return browser.page().body
  }
  police.on.Test = response(rowsReply('Test', [false]))
  const refused = await sendAll()
  t.match(refused, '1 prenotazione non è stata acquisita')
  t.match(rowOf(refused, 'Rino Rifiutato'), 'rifiutata: Numero Documento non valido')
  delete police.on.Test
  police.on.Send = (socket) => socket.destroy()
  const lost = await sendAll()
  t.match(lost, 'Non inviarla di nuovo')
  t.match(rowOf(lost, 'Rino Rifiutato'), 'esito sconosciuto')
  t.match(lost, 'href="/polizia"')
})
