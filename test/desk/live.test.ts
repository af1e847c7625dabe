import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { create } from '#test/bookings/samples.ts'
import { listen, openStream } from '#test/events/event-source.ts'
import { freePort } from '#test/free-port.ts'
import { deskBrowser, skip } from './desk-browser.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const STREAM = '/desk/novita'

t.test('the stream of a page reports changes without event types, and ends with the session', async (t) => {
  const server = await buildDesk(t)
  const { app, call } = server
  const browser = await signedIn(server)
  const { id } = await create(call, { check_in: '2026-11-28' })
  const { id: other } = await create(call, { check_in: '2026-11-28' })
  const url = await listen(app)
  const open = async (query = '') => await openStream(t, url, { cookie: browser.cookie() }, query, STREAM)

  const all = await open()
  t.match(all.headers['content-type'], 'text/event-stream')
  const one = await open(`?prenotazione_id=${id}`)
  await one.hears('id: ')
  await call('PUT', `/api/v1/prenotazioni/${other}`, { numero_ospiti: 4 })
  await call('PUT', `/api/v1/prenotazioni/${id}`, { numero_ospiti: 3 })
  t.match(await all.await(2), [{ oggetto: `prenotazione:${other}` }, { oggetto: `prenotazione:${id}` }])
  t.notMatch(all.text(), 'event:', 'a page listens to one kind of message')
  t.match(await one.await(1), [{ oggetto: `prenotazione:${id}` }])
  one.close()
  for (let count = 0; count < 8; count++) {
    const each = await open()
    await each.hears('id: ')
    each.close()
    await each.ended
  }

  await browser.open('/auth/account')
  await browser.submit('/auth/esci')
  await all.ended
  t.equal((await open()).status, 401)
  const { headers } = await app.inject({ url: STREAM, headers: { accept: 'text/event-stream' } })
  t.notMatch(String(headers['set-cookie']), 'novita', 'a person does not return to the stream after the sign-in')
})

t.test('the server still works when clients disconnect before their stream begins', async (t) => {
  const server = await buildDesk(t)
  const browser = await signedIn(server)
  const { port } = new URL(await listen(server.app))
  for (let count = 0; count < 5; count++) {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    await new Promise((resolve) => {
      socket.write(`GET ${STREAM} HTTP/1.1\r\nhost: localhost\r\ncookie: ${browser.cookie()}\r\n\r\n`, resolve)
    })
    socket.destroy()
  }
  await until(() => server.logs.filter(({ status }) => status === 499).length >= 5)
  await browser.open('/oggi')
  t.equal(browser.page().statusCode, 200)
})

t.test('Oggi shows changes at once, keeps the focus, and says when it is out of date', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const server = await buildDesk(t, { PUBLIC_URL: url })
  const { open, reach, look, shows, signIn, evaluate, send, violations } = await deskBrowser(t, server, url)
  await send('Network.enable')
  await open(`${url}/oggi`)
  await signIn()
  await shows("document.querySelector('.empty') !== null")
  const { id } = await create(server.call, { nome_cognome: 'Anna Bianchi', check_in: '2026-11-28' })
  await shows("document.querySelector('.who')?.textContent.startsWith('Anna Bianchi') ?? false")
  await reach('.who')
  await server.call('PUT', `/api/v1/prenotazioni/${id}`, { nome_cognome: 'Bice Verdi' })
  await shows("document.querySelector('.who').textContent.startsWith('Bice Verdi')")
  t.ok(await evaluate("document.activeElement.matches('.who')"), 'the focus stays where it was')

  await evaluate("document.getElementById('giorno').value = '2026-12-24'; 0")
  await server.app.sql`delete from sessions`
  await evaluate("document.querySelector('[data-live]').dispatchEvent(new Event('novita')); 0")
  await shows("!document.getElementById('vecchio').hidden")
  const typed = await evaluate("document.getElementById('giorno').value")
  t.equal(typed, '2026-12-24', 'typed data stay after the session has ended')
  await look('oggi-vecchio')
  t.same(violations(), [])
})
