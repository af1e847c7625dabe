import t from 'tap'
import { emptied } from '#test/alloggiati/emptied.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { today } from '#test/alloggiati/rules/samples.ts'
import { production, standIn } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'

const PATH = '/api/v1/appartamenti'
const HOUSE = {
  descrizione: 'Casa al lago',
  comune_codice: '412058091',
  indirizzo: 'Via dei Prati, 8',
  proprietario: 'Ada Provetti'
}
/** The server of most tests, each of which finds it empty. */
const sandbox = await build(t, { TODAY: today })
const ADD = 'GestioneAppartamenti_AggiungiAppartamento'
const DISABLE = 'GestioneAppartamenti_DisabilitaAppartamento'

t.test(
  'an apartment that was added is listed with the id that the service gave it; disabled, it is gone',
  async (t) => {
    const server = await emptied(sandbox)
    const { admin } = administrator(server)
    const list = async () => (await server.call('GET', PATH)).json().data
    t.same(await list(), [])
    const added = await admin('POST', PATH, HOUSE)
    t.equal(added.statusCode, 201)
    t.match(added.json(), { message: /aggiunto/, status: 201 })
    await admin('POST', PATH, { ...HOUSE, descrizione: 'Casa al mare' })
    t.strictSame(
      await list(),
      ['CASA AL LAGO', 'CASA AL MARE'].map((descrizione, id) => ({
        id,
        descrizione,
        comune: 'ROMA',
        provincia: 'RM',
        indirizzo: 'VIA DEI PRATI, 8',
        proprietario: 'ADA PROVETTI'
      }))
    )

    const gone = await admin('DELETE', `${PATH}/0`)
    t.equal(gone.statusCode, 200)
    t.match(gone.json(), { message: /Appartamento 0 disabilitato: non si può riattivare/, status: 200 })
    t.match(await list(), [{ id: 1 }])
    t.equal((await list()).length, 1)
  }
)

t.test('what the service refuses is a 422 in its own words', async (t) => {
  const server = await emptied(sandbox)
  const { admin } = administrator(server)
  const ceased = await admin('POST', PATH, { ...HOUSE, comune_codice: '401001501' })
  const { requestId, ...refused } = ceased.json()
  t.type(requestId, 'string')
  t.strictSame(refused, {
    error: 'Il servizio ha rifiutato la richiesta',
    status: 422,
    codice: 'APPARTAMENTO_RIFIUTATO',
    dettagli: { codice_errore: '30', messaggio_soap: 'ERRORE_PARAMETRO_ERRATO: Codice Comune Errato' }
  })
  t.match((await admin('DELETE', `${PATH}/7`)).json(), {
    status: 422,
    dettagli: { messaggio_soap: 'ERRORE_PARAMETRO_ERRATO: Id Appartamento Errato' }
  })
})

t.test('what cannot be an apartment is refused here', async (t) => {
  const server = await emptied(sandbox)
  const { admin } = administrator(server)
  for (const change of [
    { descrizione: ' ' },
    { descrizione: 'a;b' },
    { indirizzo: 'a\nb' },
    { comune_codice: '058091' },
    { proprietario: undefined },
    { altro: 1 }
  ]) {
    t.equal((await admin('POST', PATH, { ...HOUSE, ...change })).statusCode, 400, JSON.stringify(change))
  }
  for (const id of ['-1', '1000000', 'uno']) t.equal((await admin('DELETE', `${PATH}/${id}`)).statusCode, 400, id)
})

t.test('only administrators change apartments; every caller sees them', async (t) => {
  const { call, app } = await emptied(sandbox)
  t.equal((await call('POST', PATH, HOUSE)).statusCode, 403)
  t.equal((await call('DELETE', `${PATH}/0`)).statusCode, 403)
  t.equal((await call('GET', PATH)).statusCode, 200)
  t.equal((await app.inject(PATH)).statusCode, 401)
})

t.test('a service that cannot be reached is a 503, and nothing was asked for', async (t) => {
  const police = await standIn(t)
  const { admin } = administrator(await production(t, police))
  await police.stop()
  for (const [method, url, body] of [['GET', PATH], ['POST', PATH, HOUSE], ['DELETE', `${PATH}/0`]] as const) {
    t.match((await admin(method, url, body)).json(), { status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' }, method)
  }
})

t.test(
  'a request whose reply is lost may have been carried out: never an answer that invites another one',
  async (t) => {
    const police = await standIn(t)
    const { admin } = administrator(await production(t, police))
    for (const operation of [ADD, DISABLE]) police.on[operation] = (socket) => socket.resetAndDestroy()
    t.match((await admin('POST', PATH, HOUSE)).json(), { status: 422, codice: 'ESITO_SCONOSCIUTO' })
    t.match((await admin('DELETE', `${PATH}/0`)).json(), { status: 422, codice: 'ESITO_SCONOSCIUTO' })
    t.equal(police.callsOf(ADD).length, 1)
  }
)

t.test('without credentials there is no account to ask', async (t) => {
  const { admin } = administrator(await build(t, { ALLOGGIATI_MODE: 'production' }))
  for (const [method, url, body] of [['GET', PATH], ['POST', PATH, HOUSE], ['DELETE', `${PATH}/0`]] as const) {
    t.match((await admin(method, url, body)).json(), { status: 503, codice: 'CREDENZIALI_MANCANTI' }, method)
  }
})
