import t from 'tap'
import { response } from '#test/alloggiati/service/soap/server.ts'
import {
  guestNo, production, refusalReply, standIn, successReply, until, type Call
} from '#test/alloggiati/stand-in.ts'
import { saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { houses, must, SECOND, SECRETS, statesOf } from './houses.ts'

const today = testClock().today()
const police = await standIn(t)
const server = await production(t, police)
const { app, call, logs } = server
const { ask, police: accountOf, house, unit, book, sendDay } = await houses(server, today)
const second = await house(SECOND)

const userOf = ({ body }: Call) => /<(?:\w+:)?Utente[^>]*>([^<]*)</.exec(body)![1]!
const states = async () => (await app.sql`select utente, stato from invii order by id`).map(({ utente, stato }) =>
  `${utente as string} ${stato as string}`)
const expire = () => app.sql`update invii set lease_fino_al = now() - interval '1 second'`

t.test('each call for a guest uses the police account of the guest’s establishment', async (t) => {
  const ids = [await book([guestNo(1)], await unit(1)), await book([guestNo(2)], await unit(second))]
  t.same(statesOf(await sendDay()), { [ids[0]!]: 'acquisita', [ids[1]!]: 'acquisita' })
  for (const operation of ['Test', 'Send']) {
    for (const sent of police.callsOf(operation)) {
      const isSecond = sent.rows[0]!.includes(`${guestNo(2).cognome} `)
      t.equal(userOf(sent), isSecond ? SECOND.utente : 'RM000001', operation)
    }
  }
  t.same(police.callsOf('GenerateToken').map(userOf).toSorted(), [SECOND.utente, 'RM000001'])
})

t.test('a waiting submission is not sent after its unit moved to another establishment', async (t) => {
  police.forget()
  const room = await unit(second)
  const id = await book([guestNo(10)], room)
  const before = (await states()).length
  police.on.Test = (socket) => { socket.destroy() }
  const headers = { prefer: 'respond-async' }
  t.equal((await call('POST', `/api/v1/prenotazioni/${id}/invio`, {}, headers)).statusCode, 202)
  await until(async () => (await states()).at(-1) === `${SECOND.utente} pronto` && police.callsOf('Test').length > 0)
  t.match((await ask('DELETE', accountOf(second))).json(), { codice: 'ACCOUNT_IN_USO' })
  const other = { ...SECOND, utente: 'CO000099' }
  t.match((await ask('PUT', accountOf(second), other)).json(), { codice: 'ACCOUNT_IN_USO' })
  must(await call('PUT', `/api/v1/unita/${room}`, { struttura_id: 1 }), 200)
  police.on = {}
  await expire()
  await runJob(server, 'ledger-sweep')
  t.same((await states()).slice(before), [`${SECOND.utente} non_inviato`])
  t.same(police.callsOf('Send'), [])
  t.match(logs.find(({ prenotazioni }) => prenotazioni), { level: 50, prenotazioni: [id] }, 'in the alarm')
  must(await call('POST', `/api/v1/prenotazioni/${id}/invio`), 200)
  t.same(police.callsOf('Send').map(userOf), ['RM000001'])
})

t.test('a booking that changes during its test call is not sent', async (t) => {
  const changes: Record<string, (id: number, room: number) => Promise<unknown>> = {
    'its unit moves to another establishment': async (_id, room) =>
      must(await call('PUT', `/api/v1/unita/${room}`, { struttura_id: 1 }), 200),
    'it is cancelled': async (id) =>
      must(await call('PUT', `/api/v1/prenotazioni/${id}`, { stato: 'annullata' }), 200),
    'a guest is corrected': async (id) => must(await saveGuests(call, id, [guestNo(19)]), 200)
  }
  for (const [title, change] of Object.entries(changes)) {
    police.forget()
    const room = await unit(second)
    const id = await book([guestNo(13)], room)
    const before = (await states()).length
    police.on.Test = (socket, received) => {
      void change(id, room).then(() => { response(successReply(received as Call))(socket, received) })
    }
    const answer = await call('POST', `/api/v1/prenotazioni/${id}/invio`, {})
    t.same(police.callsOf('Send'), [], title)
    t.match(answer.json(), { codice: 'PRENOTAZIONE_CAMBIATA' }, title)
    t.same((await states()).slice(before), [`${SECOND.utente} non_inviato`], title)
  }
  police.forget()
})

t.test('a refused login is not repeated until a PUT changes the credentials, and no secret is logged', async (t) => {
  police.forget()
  const account = { ...SECOND, utente: 'CO000003' }
  const third = await house(account)
  const ids = [await book([guestNo(20)], await unit(third)), await book([guestNo(21)], await unit(1))]
  police.on.GenerateToken = (socket, received) => {
    const refusal = refusalReply('GenerateToken', `AUTENTICAZIONE ${SECOND.password}`)
      .replace('GenerateTokenResult>', 'result>').replace('</GenerateTokenResult>', '</result>')
    response(refusal)(socket, received)
  }
  t.match((await ask('POST', `${accountOf(third)}/prova`)).json(), { connected: false })
  must(await ask('PUT', accountOf(third), account), 200)
  for (let n = 0; n < 3; n++) t.match((await ask('POST', `${accountOf(third)}/prova`)).json(), { connected: false })
  t.same(statesOf(await sendDay({ prenotazioni: ids })), { [ids[0]!]: 'non_inviata', [ids[1]!]: 'acquisita' })
  t.same(police.callsOf('GenerateToken').map(userOf), [account.utente])
  police.on = {}
  must(await ask('PUT', accountOf(third), { ...account, password: 'un’altra-parola' }), 200)
  t.same(statesOf(await sendDay({ prenotazioni: ids })), { [ids[0]!]: 'acquisita', [ids[1]!]: 'gia_inviata' })
  for (const secret of SECRETS) t.notMatch(JSON.stringify(logs), secret)
})

t.test('the first establishment uses the environment’s account, and accounts apply only in their mode', async (t) => {
  t.match((await ask('GET', accountOf(1))).json(), { data: { origine: 'ambiente', utente: 'RM000001' } })
  t.match((await ask('PUT', accountOf(1), { ...SECOND, utente: 'X' })).json(), { codice: 'ACCOUNT_DELL_AMBIENTE' })
  const { url: DATABASE_URL, masterKey: MASTER_KEY } = server
  const sandbox = await build(t, { DATABASE_URL, MASTER_KEY })
  const there = await houses(sandbox, today)
  t.match((await there.ask('GET', accountOf(second))).json(), { data: { configurato: false, modalita: 'sandbox' } })
})
