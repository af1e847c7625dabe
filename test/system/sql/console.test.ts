import t from 'tap'
import { build } from '#test/helper.ts'
import { buildConsole, PASSWORD } from './console.ts'

const { app, call, logs, run } = await buildConsole(t)
const BOOKING = {
  nome_cognome: 'Ada Prova',
  lingua: 'IT',
  paese_id: 1,
  check_in: '2026-03-01',
  check_out: '2026-03-04',
  numero_ospiti: 2
}

t.test('an administrator with the password gets rows, their number and their fields', async (t) => {
  const answer = await run("select 1 as uno, 'due' as due")
  t.equal(answer.statusCode, 200, answer.body)
  t.same(answer.json(), {
    data: [{ uno: 1, due: 'due' }],
    rowCount: 1,
    fields: [{ name: 'uno', type: 'integer' }, { name: 'due', type: 'text' }],
    status: 200
  })
})

t.test('columns of the same name are all there, the later ones renamed as the fields say', async (t) => {
  const { data, fields } = (await run('select 1 as a, 2 as a, 3 as a_2, 4 as a')).json()
  t.same(data, [{ a: 1, a_3: 2, a_2: 3, a_4: 4 }])
  t.same(fields.map(({ name }: { name: string }) => name), ['a', 'a_3', 'a_2', 'a_4'])
})

t.test('a statement without rows answers with an empty list', async (t) => {
  t.match((await run('set work_mem = 64')).json(), { data: [], rowCount: 0, fields: [], status: 200 })
  t.match((await run('-- nothing')).json(), { data: [], rowCount: 0, fields: [], status: 200 })
  t.match((await run('select from prenotazioni where false')).json(), { data: [], rowCount: 0, fields: [] })
})

t.test('bookings and guests can be written, and the counts of countries follow', async (t) => {
  const columns = Object.keys(BOOKING).join(', ')
  const values = Object.values(BOOKING).map((value) => `'${value}'`).join(', ')
  const created = (await run(`insert into prenotazioni (${columns}) values (${values}) returning id`)).json()
  t.equal(created.rowCount, 1)
  const [{ id }] = created.data
  t.equal((await run(`insert into ospiti (prenotazione_id, indice, nome, cognome)
    values (${id}, 0, 'Ada', 'Prova'), (${id}, 1, 'Ugo', 'Prova')`)).json().rowCount, 2)
  const update = await run(`update prenotazioni set lingua = 'DE', versione = versione + 1 where id = ${id}`)
  t.equal(update.json().rowCount, 1)
  t.equal((await run(`delete from ospiti where prenotazione_id = ${id} and indice = 1`)).json().rowCount, 1)
  const booking = (await call('GET', `/api/v1/prenotazioni/${id}`)).json()
  t.match(booking, { data: { lingua: 'DE', ospiti: [{ nome: 'Ada' }] } })
  t.same((await run('select totale from prenotazioni_per_paese where paese_id = 1')).json().data, [{ totale: 1 }])
})

t.test('what PostgreSQL refuses is a 400 with the SQLSTATE, the position and the message', async (t) => {
  const answer = await run('select nome from prenotazioni')
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), {
    codice: 'SQL_NON_VALIDO', status: 400, sqlstate: '42703', posizione: 8, messaggio: 'column "nome" does not exist'
  })
  t.match((await run('select 1/0')).json(), { sqlstate: '22012', posizione: null })
  t.match((await run("select 'è', nome")).json(), { posizione: 13 }, 'the position counts characters')
  t.match((await run('select $1::int')).json(), { sqlstate: '08P01', codice: 'SQL_NON_VALIDO' })
})

t.test('a statement that fails leaves nothing of itself in the database', async (t) => {
  t.match((await run("update prenotazioni set lingua = 'fr' where 1 / (id - id) = 1")).json(), { sqlstate: '22012' })
  const inside = "with w as (update prenotazioni set lingua = 'fr' returning id) select 1 / (id - id) from w"
  t.match((await run(inside)).json(), { sqlstate: '22012' })
  t.same((await run("select count(*)::int as n from prenotazioni where lingua = 'fr'")).json().data, [{ n: 0 }])
})

t.test('a body out of bounds is a 400 that names the field', async (t) => {
  t.match((await run('')).json(), { status: 400, dettagli: [{ campo: 'sql' }] })
  t.match((await run('select 1', '')).json(), { status: 400, dettagli: [{ campo: 'password' }] })
  t.match((await run('x'.repeat(100_001))).json(), { status: 400, dettagli: [{ campo: 'sql' }] })
  t.match((await run('select 1', 'x'.repeat(201))).json(), { status: 400, dettagli: [{ campo: 'password' }] })
  t.equal((await run('select 1\0')).statusCode, 400)
  t.equal((await run('select 1\ud800')).statusCode, 400)
})

t.test('who is no administrator gets no further than the door', async (t) => {
  const payload = { password: PASSWORD, sql: 'select 1' }
  t.equal((await call('POST', '/api/querysql', payload)).statusCode, 403)
  t.equal((await app.inject({ method: 'POST', url: '/api/querysql', payload })).statusCode, 401)
})

t.test('every statement is in the audit log before it runs, without its constants', async (t) => {
  await run("select 'Mario Rossi', 42 /* Via Roma */ from prenotazioni where nome_cognome = $$Ada$$ -- fine")
  const [row] = await app.sql`select actor, action, details, ip from audit_log order by id desc limit 1`
  t.match(row, {
    action: 'sql',
    actor: /^user:/,
    ip: '127.0.0.1',
    details: {
      esito: 'accettata',
      istruzione: 'select ?, ? from prenotazioni where nome_cognome = ?',
      impronta: /^[0-9a-f]{64}$/,
      caratteri: 94
    }
  })
  const found = await run('select count(*)::int as n from audit_log where details @> \'{"caratteri": 1}\'')
  t.equal(found.statusCode, 200, 'a statement sees the log')
})

t.test('a statement that cannot be written down is not run', async (t) => {
  await app.sql`alter table audit_log add constraint nothing_more check (id < 0) not valid`
  t.teardown(() => app.sql`alter table audit_log drop constraint nothing_more`)
  t.equal((await run("update prenotazioni set lingua = 'xx'")).statusCode, 503)
  await app.sql`alter table audit_log drop constraint nothing_more`
  t.same((await run("select count(*)::int as n from prenotazioni where lingua = 'xx'")).json().data, [{ n: 0 }])
  await app.sql`alter table audit_log add constraint nothing_more check (true)`
})

t.test('no log line holds SQL, a password or a value', async (t) => {
  await run("select 'canarino-nel-log'::int")
  await run('select canarino_nel_log')
  const text = JSON.stringify(logs)
  t.notMatch(text, /canarino/)
  t.notMatch(text, /una-password-per-le-prove/)
  t.notMatch(text, /Mario Rossi/)
})

t.test('without QUERY_PASSWORD the console is off and says so, whatever the body', async (t) => {
  const { app, token } = await build(t)
  for (const payload of [{ password: PASSWORD, sql: 'select 1' }, {}]) {
    const answer = await app.inject({
      method: 'POST',
      url: '/api/querysql',
      headers: { authorization: `Bearer ${await token({ role: 'admin', name: 'capo' })}` },
      payload
    })
    t.equal(answer.statusCode, 403)
    t.match(answer.json(), { codice: 'SQL_SPENTO', error: /QUERY_PASSWORD/ })
  }
})

t.test('a statement that sets another encoding for a while gets no answer that would be garbled', async (t) => {
  const around = (inner: string) => `select set_config('client_encoding', 'LATIN1', false) union all ${inner}
    union all select set_config('client_encoding', 'UTF8', false)`
  t.match((await run(around("select 'Müller'"))).json(), { status: 400, sqlstate: '0A000' })
  t.match((await run("select 'Müller' as nome")).json().data, [{ nome: 'Müller' }])
})

t.test('of a message of millions of characters only the beginning is shown', async (t) => {
  const answer = await run('do $$ begin raise exception using message = repeat(chr(1), 9000000); end $$')
  t.equal(answer.statusCode, 400)
  t.ok(answer.body.length < 10_000)
})

t.test('made-up questions to the processes are not answered, those of a process are', async (t) => {
  const own = '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'
  const answered: string[] = []
  const last = Promise.withResolvers<void>()
  const { unlisten } = await app.sql.listen('locanda_identity', (payload) => {
    const [what, id = ''] = payload.split(':')
    if (what === 'ack') answered.push(id)
    if (id === own && what === 'ack') last.resolve()
  })
  const flood = await run("select count(pg_notify('locanda_identity', 'sync:' || g)) from generate_series(1, 5000) g")
  t.equal(flood.statusCode, 200)
  t.equal((await run(`select pg_notify('locanda_identity', 'sync:${own}')`)).statusCode, 200)
  await last.promise
  await unlisten()
  t.same(answered, [own])
})
