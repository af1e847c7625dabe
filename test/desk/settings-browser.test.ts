import t from 'tap'
import type { Unit } from '#schemas/unit.ts'
import { freePort } from '#test/free-port.ts'
import { createPerson } from '#test/identity/shared-password.ts'
import { deskBrowser, skip } from './desk-browser.ts'
import { buildDesk } from './desk-visitor.ts'

t.test('the pages of the settings are accessible, and fit phones and desktops', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const server = await buildDesk(t, { PUBLIC_URL: url })
  const { app, call } = server
  const { hit, open, look, press, shows, signIn, violations, write } = await deskBrowser(t, server, url, 'admin')
  await open(`${url}/impostazioni`)
  await signIn()

  await look('impostazioni-vuote', '/impostazioni')
  await look('primi-passi', '/oggi')
  await look('primi-passi-unita', '/oggi?passo=unita')
  await look('primi-passi-polizia', '/oggi?passo=polizia')
  for (const [nome, gruppo] of [['Camera Glicine', 'Primo piano'], ['Appartamento al lago', null]]) {
    await call('POST', '/api/v1/unita', { nome, gruppo, tipo: 'camera', ospiti_massimi: 3 })
  }
  const [{ id } = { id: 0 }] = (await call('GET', '/api/v1/unita')).json<{ data: Unit[] }>().data
  const block = { unita_id: id, dal: '2026-12-05', al: '2026-12-08', motivo: 'manutenzione', note: 'Bagno nuovo' }
  await call('POST', '/api/v1/blocchi', block)
  const made = await app.inject({
    method: 'POST',
    url: '/api/v1/strutture',
    headers: { authorization: `Bearer ${await server.token({ role: 'admin' })}` },
    payload: { nome: 'Casa del Bosco', tipo: 'casa_vacanze', indirizzo: 'Via dei Prati 8, 22100 Como' }
  })
  const house = made.json<{ data: { id: number } }>().data.id
  await look('impostazioni', '/impostazioni')
  await look('unita-nuova', '/impostazioni/unita/nuova')
  await look('unita', `/impostazioni/unita/${id}`)
  await look('struttura', `/impostazioni/strutture/${house}`)
  const person = await createPerson(server, 'rita.ferraris@example.org')
  await look('persone', '/impostazioni/utenti')
  await look('persona', `/impostazioni/utenti/${person.id}`)
  await open(`${url}/impostazioni/utenti`)
  await write('#f-email', 'piero@example.org')
  await hit('form[action="/impostazioni/utenti"] .primary')
  await shows("document.querySelector('code')")
  await look('persona-invito')

  await open(`${url}/oggi?passo=unita`)
  await write('#unita-f-quante', '0')
  await hit('#passo-unita .primary')
  await shows("document.querySelector('#passo-unita[open] [aria-invalid]')")
  await look('primi-passi-errore')
  await write('#unita-f-quante', '2')
  await hit('#passo-unita .primary')
  await shows("document.querySelector('.notice')")
  t.equal((await call('GET', '/api/v1/unita')).json<{ data: Unit[] }>().data.length, 4)

  await open(`${url}/impostazioni`)
  t.equal(await press('form[action="/auth/account/amministrazione"] button'), '/ad/')
  await look('amministrazione')

  t.same(violations(), [], 'no page violates the content security policy')
})
