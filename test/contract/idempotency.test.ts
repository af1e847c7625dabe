import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { booking } from '#test/bookings/samples.ts'
import { openHouse } from './house.ts'
import { HONOURED, WITHOUT_KEY } from './replays.ts'

/* Idempotency-Key, over all that the description lets be posted. */

interface Described { paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }

/** The protocols of the identity provider and of the storage are others' contracts: their clients send no key. */
const isProtocol = (path: string) => /^\/(auth|storage)\/v1\//.test(path)
/** After the work is done, before its answer is kept. */
const FAILS_LATE = 'x-prova-guasto'
const failed = new WeakSet<FastifyRequest>()
const answer = { isDue: Promise.withResolvers<void>(), goesOut: Promise.withResolvers<void>() }
async function failLate (request: FastifyRequest, _reply: FastifyReply, payload: unknown) {
  if (request.headers[FAILS_LATE] === undefined || failed.has(request)) return payload
  failed.add(request)
  if (request.headers[FAILS_LATE] === 'aspetta') {
    answer.isDue.resolve()
    await answer.goesOut.promise
    return payload
  }
  throw new Error('guasto dopo il lavoro')
}
const addressOf = (url: string) => url.replace(/:(\w+)/g, '{$1}')

/** They answer a repeated request from what the first one has begun. */
const BEGUN = new Set([
  '/api/alloggiati/invio', '/api/v1/prenotazioni/{id}/invio', '/api/v1/invii/giornata', '/api/lettere-benvenuto/genera',
  '/api/generate-pdf', '/api/generate-template', '/api/v1/report/csv'
])

t.test('Idempotency-Key', async (t) => {
  const honouring: string[] = []
  const house = await openHouse(t, (route) => {
    const { method, url, config, onSend = [] } = route
    if (method !== 'POST' || !config?.idempotent) return
    honouring.push(addressOf(url))
    route.onSend = [failLate, ...[onSend].flat()]
  })
  const { app } = house
  const { paths } = (await app.inject('/openapi.json')).json<Described>()
  const posts = Object.keys(paths).filter((path) => paths[path]!.post !== undefined)

  t.test('every POST of the description takes the key, or there is a reason why it needs none', async (t) => {
    const without = Object.values(WITHOUT_KEY).flat()
    t.same(
      [...Object.keys(HONOURED), ...without].sort(),
      posts.filter((path) => !isProtocol(path)).sort()
    )
    t.same(honouring.sort(), Object.keys(HONOURED).sort())
    const said = posts.filter((path) =>
      paths[path]!.post!.parameters?.some(({ name }) => /^idempotency-key$/i.test(name)))
    t.same(said.filter((path) => !(path in HONOURED)), [], 'and none that takes none says that it does')
  })

  const authorization = `Bearer ${await house.token({ name: 'capo', role: 'admin' })}`
  for (const [path, prepare] of Object.entries(HONOURED)) {
    await t.test(`POST ${path} with the same key is done once; with another body the key is refused`, async (t) => {
      const { url, payload, other, refused, headers } = await prepare(house)
      const send = async (body: object) => await app.inject({
        method: 'POST', url, payload: body, headers: { authorization, 'idempotency-key': `di ${path}`, ...headers }
      })
      const first = await send(payload)
      t.equal(first.statusCode >= 300, refused ?? false, first.body)
      t.equal(first.headers['idempotency-replayed'], undefined)
      const second = await send(payload)
      t.equal(second.statusCode, first.statusCode)
      t.equal(second.body, first.body)
      t.equal(second.headers['idempotency-replayed'], 'true')
      if (other) t.match((await send(other)).json(), { status: 422, codice: 'IDEMPOTENCY_KEY_RIUSATA' })
    })
  }

  for (const [path, prepare] of Object.entries(HONOURED)) {
    await t.test(`POST ${path} whose answer became a 500 is not done a second time with the same key`, async (t) => {
      const { url, payload, refused, headers } = await prepare(house)
      // That work is none; what it is of is other tests' subject.
      if (refused) return
      const send = async (more: Record<string, string> = {}) => await app.inject({
        method: 'POST',
        url,
        payload,
        headers: { authorization, 'idempotency-key': `guasto di ${path}`, ...headers, ...more }
      })
      t.equal((await send({ [FAILS_LATE]: 'sì' })).statusCode, 500)
      const again = await send()
      if (BEGUN.has(path)) t.ok(again.statusCode < 300, again.body)
      else t.match(again.json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
    })
  }

  t.test('a request whose work is done, and whose answer is on its way, is still at work for another', async (t) => {
    const send = (more: Record<string, string> = {}) => app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      payload: booking({ nome_cognome: 'Dora Attesa' }),
      headers: { authorization, 'idempotency-key': 'in arrivo', ...more }
    })
    const first = send({ [FAILS_LATE]: 'aspetta' })
    await answer.isDue.promise
    t.match((await send()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
    answer.goesOut.resolve()
    t.equal((await first).statusCode, 201)
    t.equal((await send()).headers['idempotency-replayed'], 'true')
  })

  t.test('a failure whose key cannot be set free is answered as any other, without a word of the inside', async (t) => {
    await app.sql.unsafe(`
      create function stays() returns trigger language plpgsql as $$ begin raise 'stays'; end $$;
      create trigger stays before insert on prenotazioni execute function stays();
      create trigger stays before delete on idempotency_keys execute function stays()`)
    t.teardown(() => app.sql.unsafe('drop function stays cascade'))
    const reply = await app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      payload: booking(),
      headers: { authorization, 'idempotency-key': 'resta' }
    })
    t.equal(reply.statusCode, 500)
    t.same(Object.keys(reply.json()).sort(), ['codice', 'error', 'requestId', 'status'])
    t.notMatch(reply.body, /delete|idempotency_keys|stays/)
  })

  t.test('an answer that the database could not keep, because it was away, is kept when it is back', async (t) => {
    await app.sql.unsafe(`
      create function away() returns trigger language plpgsql as $$
        begin if new.status = 201 then raise 'away' using errcode = '57P01'; end if; return new; end $$;
      create trigger away before update on idempotency_keys for each row execute function away()`)
    t.teardown(() => app.sql.unsafe('drop function if exists away cascade'))
    const send = () => app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      payload: booking({ nome_cognome: 'Elia Tardi' }),
      headers: { authorization, 'idempotency-key': 'tardi' }
    })
    const first = await send()
    t.equal(first.statusCode, 201)
    t.match((await send()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
    await app.sql.unsafe('drop function away cascade')
    let again = await send()
    await until(async () => (again = await send()).statusCode === 201)
    t.equal(again.headers['idempotency-replayed'], 'true')
    t.equal(again.body, first.body)
  })

  t.test('the answer that made a user is forgotten with the user', async (t) => {
    const email = 'dimenticata@example.org'
    const send = async () => await app.inject({
      method: 'POST',
      url: '/api/operators',
      payload: { email, password: 'una-frase-lunga-e-mia', name: 'Dina', surname: 'Verdi' },
      headers: { authorization, 'idempotency-key': 'dimenticata' }
    })
    const { id } = (await send()).json<{ id: string }>()
    const kept = async () => (await app.sql`select from idempotency_keys where body like ${`%${email}%`}`).length
    t.equal(await kept(), 1)
    await app.inject({ method: 'DELETE', url: `/auth/v1/admin/users/${id}`, headers: { authorization }, payload: {} })
    t.equal(await kept(), 0)
    t.match((await send()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  })
})
