import t from 'tap'
import { idpClient } from '#src/identity/external/client.ts'
import { userLookup } from '#src/identity/external/user-lookup.ts'
import { fakeProvider, json } from './fake-provider.ts'

const ID = '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11'
const OTHER = '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11'
const UNREACHABLE = { code: 'PROVIDER_NON_RAGGIUNGIBILE' }
const user = (more = {}) => json(200, { id: ID, created_at: '2026-11-21T09:30:00Z', ...more })

t.test('the look-up of users at an external provider', async (t) => {
  const { requests, ...fake } = await fakeProvider(t, user())
  const clock = { ms: 0 }
  const client = idpClient({ settings: { base: fake.url, anonKey: 'anonima' }, log: { warn () {} } })
  const create = () => userLookup({ client, serviceKey: 'di-servizio', clock: () => clock.ms })
  t.beforeEach(() => { requests.length = 0 })

  t.test('an answer is cached for a minute, and administration asks again at once', async (t) => {
    const people = create()
    fake.answer(user({ app_metadata: { role: 'admin' } }))
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } })
    fake.answer(user())
    clock.ms += 59_999
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } })
    clock.ms++
    t.same((await people.recent(ID))?.app_metadata, {})
    t.equal(requests.length, 2)
    fake.answer(user({ app_metadata: { role: 'admin' } }))
    t.match(await people.now(ID), { app_metadata: { role: 'admin' } })
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } }, 'and that is remembered')
    t.equal(requests.length, 3)
  })

  t.test('an unknown, banned or deleted user is not found, and a ban ends by itself', async (t) => {
    const people = create()
    for (const behaviour of [
      json(404, { error_code: 'user_not_found' }),
      user({ banned_until: '2999-01-01T00:00:00Z' }),
      user({ deleted_at: '2026-11-21T09:30:00Z' })
    ]) {
      fake.answer(behaviour)
      t.equal(await people.now(ID), undefined)
      t.equal(await people.recent(ID), undefined)
    }
    t.equal(requests.length, 3, 'remembered, too')
    fake.answer(user({ banned_until: '2026-01-01T00:00:00Z' }))
    t.match(await people.now(ID), { id: ID })
  })

  t.test('many callers at once ask one question', async (t) => {
    const people = create()
    fake.answer(user())
    const found = await Promise.all(Array.from({ length: 20 }, () => people.recent(ID)))
    t.equal(found.filter((each) => each?.id === ID).length, 20)
    t.equal(requests.length, 1)
  })

  t.test('no answer, or an answer about another user, is an error and is not cached', async (t) => {
    const people = create()
    for (const behaviour of [json(500, {}), json(200, {}), json(200, null), json(200, { id: OTHER }), json(401, {})]) {
      fake.answer(behaviour)
      await t.rejects(people.recent(ID), UNREACHABLE)
    }
    fake.answer(user())
    t.match(await people.recent(ID), { id: ID })
    clock.ms += 60_000
    fake.answer(json(500, {}))
    await t.rejects(people.recent(ID), UNREACHABLE, 'after the minute nobody is believed unasked')
  })
})
