import t from 'tap'
import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { Unit } from '#schemas/unit.ts'
import type { ErrorBody } from '#schemas/common.ts'
import { build } from '#test/helper.ts'
import { fieldsAtFault } from './samples.ts'

const URL = '/api/v1/strutture'
const HOUSE = { nome: 'Casa del Porto', tipo: 'casa_vacanze', comune: '013075', cin: 'IT013075B2D3E4F5G6' }

const { app, call, token, logs } = await build(t)
const admin = { authorization: `Bearer ${await token({ name: 'ada', role: 'admin' })}` }
const operator = { authorization: `Bearer ${await token({ name: 'bruno' })}` }
const as = (headers: Record<string, string>) => async (method: 'POST' | 'PUT' | 'DELETE', url: string, body?: object) =>
  await app.inject({ method, url, headers, ...body && { payload: body } })
const ask = as(admin)

async function created (body: object = HOUSE): Promise<EstablishmentRecord> {
  const response = await ask('POST', URL, body)
  if (response.statusCode !== 201) throw new Error(response.body)
  return response.json<{ data: EstablishmentRecord }>().data
}
const list = async () => (await call('GET', URL)).json<{ data: EstablishmentRecord[] }>().data

t.test('the first establishment exists before it is saved, and PUT /struttura changes it', async (t) => {
  t.match(await list(), [{ id: 1, nome: null, fuso_orario: 'Europe/Rome', versione: 0, updated_at: null }])
  t.equal((await ask('PUT', '/api/v1/struttura', { nome: 'Locanda', wifi_password: 'lago-sereno' })).statusCode, 200)
  t.match(await list(), [{ id: 1, nome: 'Locanda', versione: 1, updated_at: String }])
  t.equal((await ask('PUT', `${URL}/1`, { tipo: 'albergo', indirizzo: 'Via dei Prati 8' })).statusCode, 200)
  t.match((await call('GET', '/api/v1/struttura')).json(), {
    data: { nome: 'Locanda', indirizzo: 'Via dei Prati 8', wifi_password: 'lago-sereno' }
  })
  t.notMatch((await call('GET', `${URL}/1`)).body, /lago-sereno|wifi/)
  t.match((await ask('DELETE', `${URL}/1`)).json(), { status: 409, codice: 'STRUTTURA_IN_USO' })
})

t.test('an establishment is created, changed at its version, and deleted', async (t) => {
  const made = await ask('POST', URL, HOUSE)
  const { data } = made.json<{ data: EstablishmentRecord }>()
  t.match(data, { ...HOUSE, codice_regionale: null, regola_imposta: {}, statistica: {}, versione: 1 })
  const url = String(made.headers.location)
  t.equal(url, `${URL}/${data.id}`)
  const change = (etag: string) =>
    app.inject({ method: 'PUT', url, headers: { ...admin, 'if-match': etag }, payload: { ...data, cin: null } })
  const changed = await change(String(made.headers.etag))
  t.match(changed.json(), { data: { ...HOUSE, cin: null, versione: 2, updated_at: String } })
  t.match((await change('"1"')).json(), { status: 412, codice: 'STRUTTURA_CAMBIATA' })
  const known = await call('GET', url, undefined, { 'if-none-match': String(changed.headers.etag) })
  t.equal(known.statusCode, 304)
  t.equal((await ask('DELETE', url)).statusCode, 200)
  t.match((await call('GET', url)).json(), { status: 404, codice: 'STRUTTURA_NON_TROVATA' })
  t.equal((await ask('DELETE', url)).statusCode, 404)
  t.equal((await ask('PUT', url, { cin: null })).statusCode, 404)
})

t.test('wrong fields are named, and only administrators change an establishment', async (t) => {
  for (const [body, fields] of [
    [{}, ['nome']],
    [{ nome: ' ' }, ['nome']],
    [{ nome: 'X', comune: 'Como', tipo: 'castello' }, ['comune', 'tipo']],
    [{ nome: 'X', fuso_orario: 'Europe/Atlantide' }, ['fuso_orario']],
    [{ nome: 'X', statistica: { regione: 'Lombardia' } }, ['statistica.regione']]
  ] as const) t.same(fieldsAtFault(await ask('POST', URL, body)).toSorted(), fields)
  const { id } = await created()
  for (const [method, url] of [['POST', URL], ['PUT', `${URL}/${id}`], ['DELETE', `${URL}/${id}`]] as const) {
    t.equal((await as(operator)(method, url, method === 'DELETE' ? undefined : HOUSE)).statusCode, 403)
  }
  t.equal((await ask('DELETE', `${URL}/${id}`)).statusCode, 200)
})

t.test('a unit belongs to the first establishment, or to the named one, which cannot be deleted then', async (t) => {
  const { id } = await created()
  const room = { nome: 'Mirto', tipo: 'camera', ospiti_massimi: 2 }
  const made = (await call('POST', '/api/v1/unita', room)).json<{ data: Unit }>().data
  t.equal(made.struttura_id, 1)
  t.match((await call('PUT', `/api/v1/unita/${made.id}`, { struttura_id: id })).json(), { data: { struttura_id: id } })
  t.match((await ask('DELETE', `${URL}/${id}`)).json<ErrorBody>(), { codice: 'STRUTTURA_IN_USO', error: /1 unità/ })
  t.same(fieldsAtFault(await call('PUT', `/api/v1/unita/${made.id}`, { struttura_id: 9999 })), ['struttura_id'])
  t.same(fieldsAtFault(await call('POST', '/api/v1/unita', { ...room, nome: 'Iris', struttura_id: 9999 })),
    ['struttura_id'])
  t.same(fieldsAtFault(await call('PUT', `/api/v1/unita/${made.id}`, { struttura_id: null })), ['struttura_id'])
  t.notMatch(JSON.stringify(logs), 'lago-sereno')
})
