import t from 'tap'
import { createClock } from '#src/lib/time.ts'
import { guestNo, production, standIn } from '#test/alloggiati/stand-in.ts'

t.test('guests beyond their booking are told by what is known of each: sent, or of unknown outcome', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  const created = await call('POST', '/api/v1/prenotazioni', {
    nome_cognome: 'Marco Provetti',
    lingua: 'IT',
    paese_id: 380,
    check_in: createClock().today(),
    numero_notti: 3,
    numero_ospiti: 2
  })
  const { id } = created.json().data
  const save = (...dati: object[]) => call('POST', '/api/saveOspiti', { prenotazione_id: id, dati })
  const seats = (numero_ospiti: number) => call('PUT', `/api/v1/prenotazioni/${id}`, { numero_ospiti })
  const send = async (body = {}) => (await call('POST', `/api/v1/prenotazioni/${id}/invio`, body)).json()
  const toldOfDay = async () => {
    const { prenotazioni } = (await call('POST', '/api/v1/invii/giornata', { prova: true })).json()
    return prenotazioni[0].errors.map(({ messaggio }: { messaggio: string }) => messaggio).join(' ')
  }
  await save(guestNo(1))
  const { ricevuta: sent } = await send()
  await save(guestNo(1), guestNo(2))
  police.on.Send = (socket) => socket.destroy()
  const { ricevuta: unknown } = await send({ solo_mancanti: true })

  await save(guestNo(3))
  const refused = await send()
  t.match(refused, { status: 409, codice: 'OSPITI_OLTRE_LA_PRENOTAZIONE', prenotazione_id: id, numero_ospiti: 2 })
  t.match(refused.error, `La prenotazione è per 2 ospiti, con 1 ospite già inviato (ricevuta ${sent}) e ` +
    `1 ospite di esito sconosciuto (ricevuta ${unknown}): con questo invio sarebbero di più. ` +
    'Di esito sconosciuto: attendere la ricevuta di domani, o far decidere un amministratore. ')
  t.match(refused.gia_inviati, [{ ricevuta: sent }, { ricevuta: unknown, stato: 'sconosciuto' }])

  await seats(3)
  await save(guestNo(1), guestNo(3))
  t.match(await send({ solo_mancanti: true }), {
    status: 409,
    codice: 'OSPITI_CAMBIATI',
    error: new RegExp(`^La prenotazione ha 1 ospite di esito sconosciuto \\(ricevuta ${unknown}\\),.* forse la Polizia`)
  })
  await seats(2)
  t.match(await toldOfDay(), new RegExp(`ricevuta ${unknown} ha ospiti.*, forse sono già comunicati`))
})
