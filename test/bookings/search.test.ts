import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, list } from './samples.ts'

const CONDITION = "nome_cognome ilike '%etti%' or idf_gen ilike '%etti%' or email ilike '%etti%'"

t.test('searches find what they search for by an index', async (t) => {
  const { app, call } = await build(t)
  await create(call, { nome_cognome: 'Lucia Moretti' })
  await create(call)
  const plan = await app.sql.begin(async (tx) => {
    // So few bookings are read faster than an index.
    await tx`set local enable_seqscan = off`
    return await tx.unsafe(`explain select id from prenotazioni where ${CONDITION}`)
  })
  t.match(plan.map((row) => String(row['QUERY PLAN'])).join('\n'), 'prenotazioni_ricerca')
  t.same((await list(call, '?q=etti')).map(({ nome_cognome }) => nome_cognome), ['Lucia Moretti'])
})

for (const [what, rest] of [['of a page', '&limit=1'], ['of all that is found', '']]) {
  const title = `a flood of searches ${what} is refused but for a few, those have little time, the server stays ready`
  t.test(title, async (t) => {
    const { app, url, call, token } = await build(t)
    await create(call)
    const other = { authorization: `Bearer ${await token()}` }
    const holder = await build(t, { DATABASE_URL: url })
    let release = () => {}
    const held = new Promise<void>((resolve) => { release = resolve })
    let lock = () => {}
    const locked = new Promise<void>((resolve) => { lock = resolve })
    const holding = holder.app.sql.begin(async (tx) => {
      await tx`lock table prenotazioni in access exclusive mode`
      lock()
      await held
    })
    await locked

    let tooLong = () => {}
    const someTooLong = new Promise<void>((resolve) => { tooLong = resolve })
    const codes: Record<string, number> = {}
    const search = async (headers?: Record<string, string>) => {
      const answer = await call('GET', `${BOOKINGS}?q=bianchi${rest}`, undefined, headers)
      const codice = answer.statusCode === 200 ? 'found' : answer.json<{ codice: string }>().codice
      if (answer.statusCode === 503) t.equal(answer.headers['retry-after'], '5')
      if (codice === 'RICERCA_TROPPO_LUNGA') tooLong()
      codes[codice] = (codes[codice] ?? 0) + 1
      return codice
    }
    const flood = Array.from({ length: 280 }, () => search())
    t.equal(await Promise.race(flood), 'SERVIZIO_OCCUPATO')
    t.equal((await app.inject('/health/ready')).statusCode, 200)
    const others = search(other)
    await someTooLong
    t.equal((await app.inject('/health/ready')).statusCode, 200)
    release()
    await holding
    t.not(await others, 'SERVIZIO_OCCUPATO', 'another caller has turns of its own')
    await Promise.all(flood)
    t.equal(codes.SERVIZIO_OCCUPATO, 280 - 12)
    t.equal(await search(), 'found', 'the turns are given back')
  })
}

t.test('where the database refuses the extension, the server starts, says so, and searches without it', async (t) => {
  const { sql, url } = await testDatabase(t)
  await sql.unsafe(`drop extension pg_trgm cascade;
    create function set_limit(real) returns real language sql as 'select $1'`)
  const hasIndex = async () => (await sql<{ made: boolean }[]>`
    select to_regclass('prenotazioni_ricerca') is not null as made`)[0]?.made
  const warning = 'searching bookings is slow: the extension pg_trgm is not available in the database'
  const { call, logs } = await build(t, { DATABASE_URL: url })
  const { id } = await create(call, { nome_cognome: 'Lucia Moretti' })
  t.same((await call('GET', `${BOOKINGS}?q=etti`)).json<{ data: Booking[] }>().data.map((each) => each.id), [id])
  t.equal(logs.filter(({ msg }) => msg === warning).length, 1)
  t.equal(await hasIndex(), false)

  await sql`drop function set_limit`
  const later = await build(t, { DATABASE_URL: url })
  t.notOk(later.logs.some(({ msg }) => msg === warning))
  t.equal(await hasIndex(), true, 'a later start makes it')
})

t.test('a role without the right to the extension is told that there is no index, and nothing fails', async (t) => {
  const { sql } = await testDatabase(t)
  const name = `senza_${randomBytes(4).toString('hex')}`
  await sql.unsafe(`drop extension pg_trgm cascade; create role ${name}; grant ${name} to current_user;
    grant all on prenotazioni to ${name}`)
  t.teardown(() => sql.unsafe(`drop owned by ${name}; drop role ${name}`))
  const asRole = (role: string) => sql.begin(async (tx) => {
    await tx.unsafe(`set local role ${role}`)
    return await tx`select prenotazioni_indice_ricerca() as made`
  })
  t.match(await asRole(name), [{ made: false }])
  await sql`create extension pg_trgm`
  t.match(await asRole(name), [{ made: false }], 'with the extension it still owns no table')
  t.match(await asRole('none'), [{ made: true }])
})
