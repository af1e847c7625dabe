import t from 'tap'
import { addDays } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family } from '#test/alloggiati/rules/samples.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { administrator, deliveryOver, detail, INVII, ledgerServer, sent, unknown } from './administrator.ts'

const today = testClock().today()
const shared = await ledgerServer(t)
/** The server of all tests, each of which finds it empty. */
async function anew () {
  await emptied(shared.server, shared.police)
  return shared
}

const rowsOf = async (server: Parameters<typeof detail>[0], id: number) =>
  (await detail(server, id)).righe.map(({ esito }) => esito)

t.test('reinvia: an unknown submission is sent again at once, and the answer tells its outcome', async (t) => {
  const { police, server, decide, who } = await anew()
  const id = await unknown(police, server, family())
  t.match(await detail(server, id), {
    stato: 'sconosciuto', righe: [{ esito: 'sconosciuta' }, { esito: 'sconosciuta' }], tentativi: [{ esito: '?' }]
  })
  const { versione } = await detail(server, id)
  const decided = await decide(id, 'reinvia')
  t.equal(decided.statusCode, 200, decided.body)
  t.match(decided.json(), {
    status: 200,
    message: "Decisione registrata. Stato dell'invio: acquisito per intero",
    data: {
      id,
      stato: 'acquisito',
      righe: [{ esito: 'acquisita' }, { esito: 'acquisita' }],
      tentativi: [{ numero: 1, esito: '?' }, { numero: 2, esito: 'K' }],
      decisioni: [
        {
          decisione: 'reinvia',
          versione: versione + 1,
          chi: await who(),
          motivo: 'Guardato sul portale',
          protocollo: null
        }
      ]
    }
  })
  t.equal(police.callsOf('Send').length, 2)
  t.equal(police.callsOf('Send')[0]!.rows.join(), police.callsOf('Send')[1]!.rows.join())
})

t.test('a resend that fails before the dispatch does not free a guest who may have been acquired', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  police.on.GenerateToken = (socket) => socket.resetAndDestroy()
  police.on.Test = (socket) => socket.resetAndDestroy()
  const decided = await decide(id, 'reinvia')
  t.equal(decided.statusCode, 200)
  t.equal(decided.json().data.stato, 'pronto', 'it will be tried again')
  t.same(await rowsOf(server, id), ['in_corso'])
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('reinvia is refused when the arrival window has closed', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  await server.app.sql`alter table invii disable trigger invii_cambia`
  await server.app.sql`update invii set data_arrivo = ${addDays(today, -2)}`
  await server.app.sql`alter table invii enable trigger invii_cambia`
  const refused = await decide(id, 'reinvia')
  t.match(refused.json(), { status: 409, codice: 'DECISIONE_NON_POSSIBILE', error: /finestra di arrivo/ })
  t.equal((await detail(server, id)).stato, 'sconosciuto')
  t.equal((await decide(id, 'depositato')).statusCode, 200, 'the other ways stay open')
})

t.test('acquisito: the decision is the outcome of the attempt, with its rows and nights', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server, family())
  t.match((await decide(id, 'acquisito')).json().data, {
    stato: 'acquisito',
    righe: [{ esito: 'acquisita' }, { esito: 'acquisita' }],
    tentativi: [
      {
        esito: 'K',
        osservazioni: [{ esito: '?', fonte: 'risposta' }, { esito: 'K', fonte: 'decisione', schedine: 2, notti: 6 }]
      }
    ]
  })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio(family()))).statusCode, 409, 'its guests are taken')
  t.equal(police.callsOf('Send').length, 1)
})

t.test('depositato: filed by other means, with its protocol, and its guests stay live', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  const without = await decide(id, 'depositato', { protocollo: undefined })
  t.match(without.json(), { status: 400, dettagli: [{ campo: 'protocollo' }] })
  t.match((await decide(id, 'depositato')).json().data, {
    stato: 'depositato_altrove', righe: [{ esito: 'depositata' }], decisioni: [{ protocollo: 'PEC 2026/4711' }]
  })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
})

t.test('annulla: guests who may have been acquired stay live', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  t.match((await decide(id, 'annulla')).json().data, { stato: 'annullato', righe: [{ esito: 'sconosciuta' }] })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('annulla: guests who certainly were not acquired are free again', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  await server.app.sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, 'N', 'ricevuta')`
  t.match((await decide(id, 'acquisito')).json(), { status: 409, error: /nessun tentativo/ })
  t.match((await decide(id, 'annulla')).json().data, {
    stato: 'annullato', righe: [{ esito: 'annullata' }], tentativi: [{ esito: 'N' }]
  })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
})

t.test('an invio of another account is not sent again with this one', async (t) => {
  const { police, server } = await anew()
  const id = await unknown(police, server)
  const other = await production(t, police, {
    DATABASE_URL: server.url, DATA_DIR: server.dataDir, ALLOGGIATI_UTENTE: 'RM000002'
  })
  t.match((await administrator(other).decide(id, 'reinvia')).json(), { status: 409, error: /altro account/ })
  t.equal(police.callsOf('Send').length, 1)
})

t.test('without the typed phrase nothing is decided, and the refusal tells the phrase', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server, family())
  for (const conferma of ['', 'sì', `1 ospite ${today}`, `2 ospiti ${addDays(today, 1)}`, `12 ospiti ${today}`]) {
    const refused = await decide(id, 'annulla', { conferma })
    t.match(
      refused.json(),
      { status: 400, dettagli: [{ campo: 'conferma', messaggio: `deve essere «2 ospiti ${today}»` }] },
      conferma
    )
  }
  t.equal((await detail(server, id)).stato, 'sconosciuto')
  t.equal(
    (await decide(id, 'annulla', { conferma: ` 2  OSPITI ${today} ` })).statusCode,
    200,
    'blanks and capitals do not matter'
  )
})

t.test('only administrators decide', async (t) => {
  const { police, server } = await anew()
  const id = await unknown(police, server)
  const body = { decisione: 'annulla', motivo: 'Guardato sul portale', versione: 4, conferma: `1 ospite ${today}` }
  t.equal((await server.call('POST', `${INVII}/${id}/decisione`, body)).statusCode, 403)
  const operator = { authorization: `Bearer ${await server.token()}` }
  t.equal(
    (await server.app.inject({ method: 'POST', url: `${INVII}/${id}/decisione`, headers: operator, payload: body }))
      .statusCode,
    403
  )
  t.equal((await server.app.inject({ method: 'POST', url: `${INVII}/${id}/decisione`, payload: body })).statusCode, 401)
})

t.test('a decision on another version than the present one is refused', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  const { versione } = await detail(server, id)
  for (const wrong of [versione - 1, versione + 1]) {
    t.match((await decide(id, 'acquisito', { versione: wrong })).json(), { status: 409, codice: 'INVIO_CAMBIATO' })
  }
  t.same((await detail(server, id)).decisioni, [])
})

t.test(
  'a submission whose outcome is known cannot be decided on, and one that does not exist is not found',
  async (t) => {
    const { server, decide, admin } = await anew()
    const id = await sent(server)
    t.match((await decide(id, 'annulla')).json(), { status: 409, codice: 'NULLA_DA_DECIDERE' })
    const body = { decisione: 'annulla', motivo: 'Guardato sul portale', versione: 4, conferma: `1 ospite ${today}` }
    t.match((await admin('POST', `${INVII}/4711/decisione`, body)).json(), { status: 404, codice: 'INVIO_NON_TROVATO' })
  }
)

t.test('of administrators who decide at once, on two servers, one wins and the others are told 409', async (t) => {
  const { police, server } = await anew()
  const other = await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  const id = await unknown(police, server)
  const people = Array.from({ length: 8 }, (_, n) => administrator(n % 2 ? server : other, `amministratore-${n}`))
  const choices = ['reinvia', 'acquisito', 'depositato', 'annulla']
  const answers = await Promise.all(people.map(({ decide }, n) => decide(id, choices[n % 4]!)))
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, ...Array.from({ length: 7 }, () => 409)])
  t.equal((await detail(server, id)).decisioni.length, 1)
})

t.test('a decision serves once: a submission that is in doubt again needs another decision', async (t) => {
  const { police, server, decide } = await anew()
  const id = await unknown(police, server)
  police.on.Send = (socket) => socket.resetAndDestroy()
  t.equal((await decide(id, 'reinvia')).json().data.stato, 'sconosciuto')
  t.equal(police.callsOf('Send').length, 2)
  await server.app.sql`update invii set stato = 'da_verificare' where id = ${id}`
  for (const stato of ['pronto', 'depositato_altrove', 'annullato']) {
    await t.rejects(server.app.sql`update invii set stato = ${stato} where id = ${id}`, { code: 'LC001' }, stato)
  }
  await deliveryOver(server)
  t.equal((await decide(id, 'reinvia')).statusCode, 200, 'a new one serves')
  t.equal(police.callsOf('Send').length, 3)
})

t.test('a submission that a late reply has proven acquired is neither sent again nor cancelled', async (t) => {
  const { police, server, decide } = await anew()
  const reply = held()
  police.on.Send = reply.behaviour
  const sending = sent(server)
  await reply.arrived
  const [{ id } = { id: 0 }] = await server.app.sql<{ id: number }[]>`select id from invii`
  await server.app.sql`update invii set stato = 'sconosciuto' where id = ${id}`
  await server.app.sql`update invii set stato = 'da_verificare' where id = ${id}`
  await server.app.sql`
    insert into invii_esiti (invio_id, numero, esito, fonte, schedine, notti)
    values (${id}, 1, 'K', 'ricevuta', 1, 3)`
  for (const decisione of ['reinvia', 'annulla']) {
    t.match((await decide(id, decisione)).json(), { status: 409, error: /ha acquisito/ }, decisione)
  }
  t.equal(
    (await decide(id, 'acquisito')).json().data.tentativi[0].osservazioni.length,
    1,
    'and nothing is added to the proof'
  )
  reply.release(answer(rowsReply('Send', [true])))
  await sending
})

t.test('the same Idempotency-Key gives the decision\'s answer again, without a second call', async (t) => {
  const { police, server } = await anew()
  const id = await unknown(police, server)
  const { versione } = await detail(server, id)
  const headers = { authorization: `Bearer ${await server.token({ service: true })}`, 'idempotency-key': 'una' }
  const payload = { decisione: 'reinvia', motivo: 'Guardato sul portale', versione, conferma: `1 ospite ${today}` }
  const decide = () => server.app.inject({ method: 'POST', url: `${INVII}/${id}/decisione`, headers, payload })
  const [first, second] = [await decide(), await decide()]
  t.equal(second.body, first.body)
  t.equal(police.callsOf('Send').length, 2)
})
