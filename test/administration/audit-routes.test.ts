import fc from 'fast-check'
import t from 'tap'
import { audit_log } from '#drizzle/tables/audit.ts'
import type { AuditEvent } from '#schemas/audit.ts'
import { anyCharacter } from '#test/any-character.ts'
import { build } from '#test/helper.ts'
import { AUDIT, admin, entry } from '#test/plugins/audit/samples.ts'

const ids = (answer: { json (): { data: AuditEvent[] } }) => answer.json().data.map(({ id }) => id)

const server = await build(t)
const call = await admin(server)

// Each test has the log to itself, from its first entry on.
t.beforeEach(async () => {
  await server.app.sql.unsafe(`
    alter table audit_log disable trigger user; delete from audit_log; alter table audit_log enable trigger user`)
})

/** Entries of these times, as far as the list is concerned. */
async function at (times: readonly string[]): Promise<void> {
  const row = { actor: 'sistema', action: 'email', hash: Buffer.of(0) }
  await server.app.db.insert(audit_log).values(times.map((time, n) => ({ ...row, id: n + 1, at: new Date(time) })))
}

t.test('an entry is shown with the words of its action, and without its hash', async (t) => {
  await server.app.audit.append(server.app.db, entry(1))
  await server.app.audit.append(server.app.db, {
    actor: 'anonimo',
    action: 'accesso_fallito',
    details: { tentativi: 3, ultimo: true, altro: null }
  })
  const [second, first] = (await call('GET', AUDIT)).json<{ data: AuditEvent[] }>().data
  for (const { at } of [first!, second!]) {
    t.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  }
  const { at: _first, ...shown } = first!
  const { at: _second, ...other } = second!
  t.strictSame(shown, {
    id: 1,
    actor: 'user:1',
    action: 'utente_modificato',
    object: 'user:1',
    ip: '192.0.2.7',
    details: { n: 1, campi: ['ruolo'] },
    descrizione: 'Utente modificato'
  })
  t.strictSame(other, {
    id: 2,
    actor: 'anonimo',
    action: 'accesso_fallito',
    object: null,
    ip: null,
    details: { tentativi: 3, ultimo: true, altro: null },
    descrizione: 'Accesso non riuscito'
  })
})

t.test('the newest come first, and the pages joined are the whole list', async (t) => {
  for (let n = 0; n < 7; n++) await server.app.audit.append(server.app.db, entry(n))
  t.same(ids(await call('GET', AUDIT)), [7, 6, 5, 4, 3, 2, 1])
  for (const limit of [1, 3, 7, 1000]) {
    const found: number[] = []
    let next: string | undefined = `${AUDIT}?limit=${limit}&action=utente_modificato`
    while (next !== undefined) {
      const answer = await call('GET', next)
      t.equal(answer.headers['x-total-count'], next.includes('cursor') ? undefined : '7')
      t.ok(ids(answer).length <= limit)
      found.push(...ids(answer))
      next = /^<(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    t.same(found, [7, 6, 5, 4, 3, 2, 1], `${limit} at a time`)
  }
})

t.test('an entry that comes in while the pages are read moves none of them', async (t) => {
  for (let n = 0; n < 4; n++) await server.app.audit.append(server.app.db, entry(n))
  const first = await call('GET', `${AUDIT}?limit=2`)
  await server.app.audit.append(server.app.db, entry(5))
  t.same(ids(first).concat(ids(await call('GET', /<(.+)>/.exec(String(first.headers.link))![1]!))), [4, 3, 2, 1])
})

t.test('it is searched by who and what', async (t) => {
  const { app: { audit, db } } = server
  for (const [n, action] of (['accesso', 'uscita', 'accesso', 'sql'] as const).entries()) {
    await audit.append(db, entry(n % 2, { action }))
  }
  const found = async (query: string) => {
    const answer = await call('GET', AUDIT + query)
    t.equal(answer.headers['x-total-count'], String(ids(answer).length))
    return ids(answer)
  }
  t.same(await found('?action=accesso'), [3, 1])
  t.same(await found('?actor=user:1'), [4, 2])
  t.same(await found('?actor=user:1&action=sql'), [4])
  t.same(await found('?actor=user:1&action=accesso'), [])
  t.same(await found('?actor=USER:1'), [])
})

t.test('a day is the day of Italy, whole; an instant is what it says, itself included', async (t) => {
  await at([
    '2026-11-20T22:59:59.999Z',
    '2026-11-20T23:00:00Z',
    '2026-11-21T22:59:59.999Z',
    '2026-11-21T23:00:00Z'
  ])
  const found = async (query: string) => ids(await call('GET', AUDIT + query))
  t.same(await found('?da=2026-11-21'), [4, 3, 2])
  t.same(await found('?a=2026-11-21'), [3, 2, 1])
  t.same(await found('?da=2026-11-21&a=2026-11-21'), [3, 2])
  t.same(await found('?da=2026-11-21T23:00:00Z'), [4])
  t.same(await found('?a=2026-11-20T22:59:59.999Z'), [1])
  t.same(await found(`?da=${encodeURIComponent('2026-11-21T00:00:00+01:00')}&a=2026-11-21T22:59:59.999Z`), [3, 2])
})

t.test('bounds in the wrong order are refused, whether days or instants: no list looks like good news', async (t) => {
  const asked = (da: string, a: string) => call('GET', `${AUDIT}?${new URLSearchParams({ da, a })}`)
  for (const [da, a] of [
    ['2026-11-22', '2026-11-20'],
    ['2026-11-21T10:00:00Z', '2026-11-21T09:59:59.999Z'],
    ['2026-11-21T10:00:00Z', '2026-11-21T10:30:00+01:00'],
    ['2026-11-21T23:59:60Z', '2026-11-21t23:59:58+00'],
    // The instant is in the day before, by the clock of Rome; or in the day after.
    ['2026-11-21', '2026-11-20T22:59:59Z'],
    ['2026-11-20T23:00:00Z', '2026-11-20']
  ] as const) {
    t.match((await asked(da, a)).json(), { status: 400, dettagli: [{ campo: 'a' }] }, `${da} ${a}`)
  }
  for (const [da, a] of [
    ['2026-11-20', '2026-11-20'],
    ['2026-11-21T10:00:00Z', '2026-11-21T11:00:00+0100'],
    ['2026-11-21t10:00:00+00', '2026-11-21T23:59:60Z'],
    ['2026-11-21', '2026-11-20T23:00:00Z'],
    ['2026-11-20T22:59:59Z', '2026-11-20'],
    ['0001-01-02', '9999-12-31T23:59:59Z']
  ] as const) t.equal((await asked(da, a)).statusCode, 200, `${da} ${a}`)
})

t.test('a day on which the clocks change has 23 hours, or 25', async (t) => {
  await at([
    '2026-03-28T23:00:00Z',
    '2026-03-29T21:59:59Z',
    '2026-03-29T22:00:00Z',
    '2026-10-24T22:00:00Z',
    '2026-10-25T22:59:59Z',
    '2026-10-25T23:00:00Z'
  ])
  t.same(ids(await call('GET', `${AUDIT}?da=2026-03-29&a=2026-03-29`)), [2, 1])
  t.same(ids(await call('GET', `${AUDIT}?da=2026-10-25&a=2026-10-25`)), [5, 4])
})

t.test('it is for administrators alone, its verification too', async (t) => {
  const operator = { authorization: `Bearer ${await server.token()}` }
  for (const url of [AUDIT, `${AUDIT}/verifica`]) {
    t.equal((await server.app.inject(url)).statusCode, 401)
    t.equal((await server.call('GET', url)).statusCode, 403, 'the server\'s own key')
    t.equal((await server.app.inject({ url, headers: operator })).statusCode, 403, 'an operator')
    t.equal((await call('GET', url)).statusCode, 200)
  }
})

t.test('what a query cannot mean is a 400 that names the field', async (t) => {
  const wrong: [query: string, field: string][] = [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['cursor=!', 'cursor'],
    ['cursor=AAAA', 'cursor'],
    ['actor=', 'actor'],
    [`actor=${'a'.repeat(201)}`, 'actor'],
    ['action=', 'action'],
    ['action=altro', 'action'],
    ['da=', 'da'],
    ['da=ieri', 'da'],
    ['da=2026-02-30', 'da'],
    ['a=2026-02-30T00:00:00Z', 'a'],
    ['da=0000-01-01T00:00:00Z', 'da'],
    ['da=2026-11-21T00:00:00%2B15:00', 'da'],
    ['a=2026-11-21T00:00:00', 'a'],
    ['altro=1', 'altro']
  ]
  for (const [query, field] of wrong) {
    const answer = await call('GET', `${AUDIT}?${query}`)
    t.match(answer.json(), { status: 400, dettagli: [{ campo: field }] }, query)
  }
  for (const query of [
    'da=0001-01-01',
    'a=9999-12-31',
    'a=9999-12-31T23:59:59-14:00',
    'da=0001-01-01T00:00:00%2B14:00',
    'a=2026-12-31T23:59:60Z'
  ]) {
    t.equal((await call('GET', `${AUDIT}?${query}`)).statusCode, 200, query)
  }
})

t.test('whatever a bound is, the answer is a list or a 400', async (t) => {
  const digits = (count: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: count, maxLength: count })
  /** Mostly such as there are: of any two digits one day in thirty would be one of the calendar. */
  const upTo = (most: number) => fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(2, '0')) },
    digits(2)
  )
  const like = fc
    .tuple(
      digits(4),
      upTo(13),
      upTo(32),
      fc.constantFrom('', 'T00:00:00Z', 't23:59:60z', 'T12:00:00.123456789+14:00', 'T24:00:00Z', ' 00:00', 'T1:2:3Z')
    )
    .map(([year, month, day, rest]) => `${year}-${month}-${day}${rest}`)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('da', 'a'),
      fc.oneof(like, fc.string({ unit: anyCharacter })),
      async (field, bound) => {
        const other = field === 'a' ? 'da=2026-11-21T10:00:00Z' : 'a=2026-11-21'
        const asked = `${field}=${encodeURIComponent(bound.toWellFormed())}`
        const { statusCode } = await call('GET', `${AUDIT}?${asked}&${other}`)
        return statusCode === 200 || statusCode === 400
      }
    ),
    { numRuns: 100 }
  )
  t.pass()
})

t.test('what a stranger\'s hand has put into the table is shown as well as it can be', async (t) => {
  await at(['2026-11-21T00:00:00Z'])
  await server.app.sql`
    insert into audit_log (id, at, actor, action, details, hash)
    values (-1, now(), '', 'inventata', '{"a": {"b": [1]}}', '')`
  const shown = (await call('GET', AUDIT)).json<{ data: AuditEvent[] }>().data
  t.match(shown, [{ id: 1 }, { id: -1, action: 'inventata', descrizione: 'inventata', details: { a: { b: [1] } } }])
})
