import t from 'tap'
import { createClock } from '#src/lib/time.ts'
import { guestNo, held, production, standIn, until } from '#test/alloggiati/stand-in.ts'

/* A guest is corrected while the submission of the booking has not ended. */

const WORD = { confermo_diverso: true, motivo: 'Un ospite in più, concordato alla reception' }

t.test('a booking whose submission is under way is not called sent, and nobody can confirm more guests', async (t) => {
  const police = await standIn(t)
  const server = await production(t, police)
  const check_in = createClock().today()
  for (const numero_ospiti of [1, 2]) {
    const created = await server.call('POST', '/api/v1/prenotazioni', {
      nome_cognome: 'Marco Provetti', lingua: 'IT', paese_id: 380, check_in, numero_notti: 3, numero_ospiti
    })
    const { id } = created.json().data
    const save = (guest: object) =>
      server.call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guest] })
    const send = async (body: object, headers = {}) =>
      (await server.call('POST', `/api/v1/prenotazioni/${id}/invio`, body, headers)).json()
    await save(guestNo(numero_ospiti))
    const login = held()
    police.on.GenerateToken = login.behaviour
    const { ricevuta } = await send({}, { prefer: 'respond-async' })
    await login.arrived
    await save(guestNo(10 + numero_ospiti))
    const refused = async () => {
      for (const body of [{}, { solo_mancanti: true }, WORD]) {
        const told = await send(body)
        t.match(told, { status: 409, codice: 'INVIO_IN_CORSO', ricevuta, stato: /^(pronto|preso)$/ })
        t.notMatch(told.error, /inviato|confermo_diverso/)
      }
      // Where one guest of two is saved the day says just that.
      if (numero_ospiti === 2) return
      const day = (await server.call('POST', '/api/v1/invii/giornata', { prenotazioni: [id] })).json()
      t.match(day, { success: false, prenotazioni: [{ ricevute: [ricevuta] }] })
      t.match(day.prenotazioni[0].errors, [{ messaggio: new RegExp(`^L'invio ${ricevuta} è in corso`) }])
      t.equal(day.prenotazioni[0].errors.length, 1)
    }
    await refused()
    delete police.on.GenerateToken
    login.release((socket) => socket.destroy())
    await until(async () =>
      (await server.call('GET', `/api/v1/invii?ricevuta=${ricevuta}`)).json().data[0].stato === 'pronto')
    await refused()
  }
  t.equal(police.callsOf('Send').length, 0)
})
