import t from 'tap'
import { addDays } from '#src/lib/time.ts'
import { ledgerServer, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { freePort } from '#test/free-port.ts'
import { deskBrowser, skip } from './desk-browser.ts'

t.test('Polizia, Avvisi, Ricerca, Lettere and Report in a browser', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const { police, server } = await ledgerServer(t, { PUBLIC_URL: url })
  const { call } = server
  const today = testClock().today()
  const { open, hit, look, shows, signIn, evaluate, page, violations } = await deskBrowser(t, server, url, 'admin')
  await open(`${url}/polizia`)
  await signIn()

  t.test('empty pages are accessible', async () => {
    await look('polizia-vuota', '/polizia')
    await look('ricerca-vuota', '/ricerca')
    await look('lettere-vuote', '/lettere')
    await look('report', '/report')
  })

  t.test('pages of a house with bookings are accessible', async () => {
    const book = (nome_cognome: string, check_in: string, numero_ospiti = 1) =>
      create(call, { nome_cognome, check_in, numero_ospiti })
    const sent = await book('Sofia Rinaldi', today)
    await saveGuests(call, sent.id, [guestNo(1)])
    await call('POST', `/api/v1/prenotazioni/${sent.id}/invio`)
    const incomplete = await book('Jürgen Müller', today, 2)
    await saveGuests(call, incomplete.id, [guestNo(2, { luogo_rilascio: '', sesso: '' })])
    const ready = await book('Anna Bianchi', addDays(today, -1))
    await saveGuests(call, ready.id, [guestNo(3)])
    const late = await book('Claire Dubois', addDays(today, -6))
    await saveGuests(call, late.id, [guestNo(4)])
    await book('Luca Verdi', addDays(today, 2))
    const letter = { prenotazione_id: sent.id, nome_ospite: 'Sofia Rinaldi', lingua: 'IT' }
    await call('POST', '/api/lettere-benvenuto/genera', letter)
    const doubtful = await unknown(police, server, [guestNo(5)])
    await look('polizia', '/polizia')
    await look('invio-sconosciuto', `/polizia/invii/${doubtful}`)
    await hit(`form[action="/polizia/invii/${doubtful}/decisione"] button.primary`)
    await look('pec', `/polizia/pec/${late.id}`)
    await look('avvisi', '/avvisi')
    await look('ricerca', '/ricerca?q=an')
    await look('lettere', '/lettere')
  })

  t.test('the key / focuses the search box, which shows results below it while the person types', async (t) => {
    await open(`${url}/lettere`)
    await page.keyboard.press('/')
    t.equal(await evaluate('document.activeElement.id'), 'q')
    await page.keyboard.insertText('bianchi')
    await shows("document.querySelector('#subito .who')?.textContent.includes('Anna Bianchi') ?? false")
    t.equal(await evaluate('location.pathname'), '/lettere')
    await look('ricerca-subito')
  })

  t.test('no page violates the content security policy', async (t) => {
    t.same(violations(), [])
  })
})
