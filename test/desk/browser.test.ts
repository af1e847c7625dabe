import t from 'tap'
import { freePort } from '#test/free-port.ts'
import { deskBrowser, skip } from './desk-browser.ts'
import { buildDesk } from './desk-visitor.ts'

const NEW = '/prenotazioni/nuova'

t.test('the desk in a browser', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const server = await buildDesk(t, { PUBLIC_URL: url })
  const { open, press, write, hit, look, shows, signIn, evaluate, page, violations } =
    await deskBrowser(t, server, url)
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  const button = (action: string) => `form[action="${action}"] button.primary`

  t.test('a person signs in by keyboard, creates a booking, corrects an error in place, and saves', async (t) => {
    await open(`${url}/`)
    t.equal(await signIn(), '/oggi')
    await look('oggi')
    t.equal(await press(`.head a[href^="${NEW}"]`), `${NEW}?giorno=2026-11-28`)
    await look('nuova')
    await write('#f-nome_cognome', 'Anna Bianchi')
    await evaluate(`for (const [id, value] of [['check_in', '2026-11-28'], ['check_out', '2026-11-27']]) {
      document.getElementById('f-' + id).value = value
    }; 0`)
    await hit(button(NEW))
    await shows("document.querySelector('[aria-invalid]')?.id ?? ''")
    t.equal(await evaluate('document.activeElement.id'), 'f-check_out', 'the focus is on the invalid field')
    await look('errore')
    await evaluate("document.getElementById('f-check_out').value = '2026-12-01'; 0")
    await hit(button(NEW))
    await shows("location.search === '?esito=creato'")
    t.match(await evaluate('document.title'), 'Anna Bianchi', 'the form was submitted in place')
    await look('creata')
  })

  t.test('a conflict shows both versions, an unknown URL shows an error page, and both are accessible', async () => {
    const { id } = (await server.call('GET', '/api/v1/prenotazioni')).json<{ data: { id: number }[] }>().data[0]!
    const page = `/prenotazioni/${id}/modifica`
    await open(url + page)
    await server.call('PUT', `/api/v1/prenotazioni/${id}`, { numero_ospiti: 4 })
    await write('#f-numero_ospiti', '3')
    await hit(button(page))
    await shows("document.querySelector('.versions') !== null")
    await look('conflitto')
    await look('errore-404', '/nessuna')
  })

  t.test('the typed data remain after a lost connection, and after a sign-in in between', async (t) => {
    await open(url + NEW)
    await write('#f-nome_cognome', 'Bice Verdi')
    await evaluate("document.querySelector('.form').noValidate = true; 0")
    await page.context().setOffline(true)
    await hit(button(NEW))
    await shows("!document.getElementById('offline').hidden")
    t.equal(await evaluate("document.getElementById('f-nome_cognome').value"), 'Bice Verdi')
    await look('senza-rete')
    await page.context().setOffline(false)
    await server.app.sql`delete from sessions`
    await press(button(NEW))
    t.equal(await signIn(), NEW)
    t.equal(await evaluate("document.getElementById('f-nome_cognome').value"), 'Bice Verdi')
  })

  t.test('the typed data remain after a refusal, and after a sign-in in between', async (t) => {
    const { id } = (await server.call('GET', '/api/v1/prenotazioni')).json<{ data: { id: number }[] }>().data[0]!
    const guests = `/prenotazioni/${id}`
    const save = `form[action="${guests}/ospiti"] .actions .primary`
    await open(url + guests)
    await write('#f-dati-0-cognome', 'Verdi')
    await evaluate("document.getElementById('f-dati-0-arrivo').value = '2027-12-01'; 0")
    await hit(save)
    await shows("document.querySelector('[aria-invalid]') !== null")
    await server.app.sql`delete from sessions`
    await write('#f-dati-0-nome', 'Bice')
    await press(save)
    t.equal(await signIn(), guests)
    t.equal(await evaluate("document.getElementById('f-dati-0-nome').value"), 'Bice')
  })

  t.test('every request goes to this server, and no page violates the content security policy', async (t) => {
    t.ok(requests.length > 10)
    // The browser itself loads the icon of a date input.
    t.same(requests.filter((each) => !each.startsWith(`${url}/`) && !each.startsWith('data:')), [])
    t.same(violations(), [])
  })
})
