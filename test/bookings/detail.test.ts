import t from 'tap'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, guests, read, saveGuests } from './samples.ts'

const { call } = await build(t)

const detail = (id: number | string, headers?: Record<string, string>) =>
  call('GET', `${BOOKINGS}/${id}`, undefined, headers)
const tagOf = async (id: number) => String((await detail(id)).headers.etag)

t.test('a missing booking is a 404 in the contract\'s words', async (t) => {
  const response = await detail(2_000_000)
  t.equal(response.statusCode, 404)
  const { requestId, ...body } = response.json<Record<string, unknown>>()
  t.same(body, { error: 'Prenotazione non trovata', status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  t.type(requestId, 'string')
})

t.test('an id that no booking can have is a 400 that names it', async (t) => {
  for (const id of ['0', '-1', '1.5', 'x', '2147483648', '1e99', '1e400', 'NaN']) {
    const response = await detail(id)
    t.equal(response.statusCode, 400, id)
    t.match(response.json(), { dettagli: [{ campo: 'id' }] })
  }
})

t.test('the guests are shown in the order of their list, with the contract\'s fields', async (t) => {
  const { id } = await create(call, { numero_ospiti: 12 })
  await saveGuests(
    call,
    id,
    guests(12, {
      sesso: 'F',
      data_nascita: '1985-04-12',
      tipo_documento: 'IDELE',
      numero_documento: 'CA00000AA',
      cittadinanza: '100000100'
    })
  )
  const { ospiti } = await read(call, id)
  t.same(ospiti.map(({ nome }) => nome), guests(12).map(({ nome }) => nome))
  const [first] = ospiti
  t.same(
    { ...first, id: 0 },
    {
      id: 0,
      nome: 'Nome 0',
      cognome: 'Prova',
      sesso: 'F',
      data_nascita: '1985-04-12',
      tipo_documento: 'IDELE',
      numero_documento: 'CA00000AA'
    }
  )
})

t.test('a booking without guests has an empty list', async (t) => {
  const { id } = await create(call)
  t.same((await read(call, id)).ospiti, [])
})

t.test('a booking shows its own guests only', async (t) => {
  const [one, other] = [await create(call), await create(call)]
  await saveGuests(call, one.id, guests(2, { cognome: 'Uno' }))
  await saveGuests(call, other.id, guests(1, { cognome: 'Altro' }))
  t.same((await read(call, other.id)).ospiti.map(({ cognome }) => cognome), ['Altro'])
})

t.test('the entity tag stays while nothing changes', async (t) => {
  const { id } = await create(call)
  t.equal(await tagOf(id), await tagOf(id))
})

t.test('the entity tag changes with the booking and with its guests', async (t) => {
  const { id } = await create(call)
  const tags = [await tagOf(id)]
  await call('PUT', `${BOOKINGS}/${id}`, { lingua: 'EN' })
  tags.push(await tagOf(id))
  await saveGuests(call, id, guests(2))
  tags.push(await tagOf(id))
  await saveGuests(call, id, guests(1))
  tags.push(await tagOf(id))
  t.equal(new Set(tags).size, 4)
})

t.test('If-None-Match with the present tag gives 304 without a body', async (t) => {
  const { id } = await create(call)
  const tag = await tagOf(id)
  for (const header of [tag, `W/${tag}`, `"x", ${tag}`, `"x",W/${tag} , "y"`, '*']) {
    const response = await detail(id, { 'if-none-match': header })
    t.equal(response.statusCode, 304, header)
    t.equal(response.body, '')
    t.equal(response.headers.etag, tag)
  }
})

t.test('If-None-Match with another tag gives the booking', async (t) => {
  const { id } = await create(call)
  const tag = await tagOf(id)
  await saveGuests(call, id, guests(1))
  for (const header of [tag, '"x"', '', `${tag}x`, 'W/']) {
    t.equal((await detail(id, { 'if-none-match': header })).statusCode, 200, header)
  }
})

t.test('no cache keeps a booking', async (t) => {
  const { id } = await create(call)
  t.equal((await detail(id)).headers['cache-control'], 'no-store')
})
