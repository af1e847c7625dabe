import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import { audit_log } from '#drizzle/tables/audit.ts'
import type { AuditEvent } from '#schemas/audit.ts'
import { html } from '#src/lib/html.ts'
import { build, signIn } from '#test/helper.ts'
import { admin, AUDIT, entry } from '#test/services/audit/samples.ts'
import { granted } from './admin-cookies.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
const EVIL = '<img src=x onerror="alert(1)">\'&amp;'

const ids = (response: { json (): { data: AuditEvent[] } }) => response.json().data.map(({ id }) => id)

const server = await build(t)
const call = await admin(server)

t.test('the first page', async (t) => {
  const { app, token, call } = await build(t)
  const admin = await token({ name: 'anna', role: 'admin' })
  const { cookie } = await granted(app, admin)
  const page = async () => await app.inject({ url: '/ad/', headers: { cookie } })
  /** The cells of every row, in order. */
  const rows = (body: string) =>
    [...body.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
      [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => cell)
    )

  t.test('is HTML without scripts, and its policy allows only its own style sheet', async (t) => {
    const { statusCode, headers, body } = await page()
    t.equal(statusCode, 200)
    t.equal(headers['content-type'], 'text/html; charset=utf-8')
    t.equal(headers['cache-control'], 'no-store')
    t.match(headers, {
      'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cross-origin-opener-policy': 'same-origin'
    })
    const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ''
    t.equal(
      headers['content-security-policy'],
      `default-src 'none';style-src 'sha256-${hash('sha256', style, 'base64')}';` +
        "base-uri 'none';form-action 'none';frame-ancestors 'none'"
    )
    t.ok(style.length > 50)
    t.notMatch(body, /<(script|img|iframe|form|object|embed|link|base)|\son\w+=|style="|javascript:/i)
    t.match(body, /^<!doctype html>\n<html lang="it">/)
    const links = [...body.matchAll(/href="([^"]*)"/g)].map(([, href]) => href!)
    t.same(links.slice(-3), ['/docs', '/openapi.json', '/health/ready'])
    t.ok(links.includes('/oggi'), 'the bar leads back to the desk')
    for (const url of links) t.ok((await app.inject(url)).statusCode < 400, url)
  })

  t.test('shows version, mode and counts', async (t) => {
    await signIn(app, 'piero', 'operator')
    await signIn(app, 'piero', 'operator')
    await app.sql`
      update sessions set not_after = now()
      where id in (select id from sessions order by created_at desc limit 1)`
    const { body } = await page()
    t.match(body, `Versione ${version} · Alloggiati Web: <strong>sandbox</strong>`)
    t.same(rows(body).slice(0, 2), [['Utenti', '2'], ['Sessioni attive', '2']])
    t.match(body, '<p>Nessun invio.</p>')
    t.match(body, /Allarmi aperti<\/h2>\n<p>Nessuno\.<\/p>/)
  })

  t.test('shows the states of submissions, and problems that a person must solve', async (t) => {
    const stop = await app.inject({
      method: 'POST',
      url: '/api/v1/invii/sospensione',
      headers: { authorization: `Bearer ${admin}` },
      payload: { sospeso: true, motivo: 'prova' }
    })
    t.equal(stop.statusCode, 200, stop.body)
    await app.sql`insert into mails (message_id, stato) values ('<uno@example.org>', 'fallita')`
    await app.sql`
      insert into invii
        (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, lease_fino_al)
      values
      ('AW-20261121-1', 'sandbox:prova', 'server', 'Send', '2026-11-21', 1, now(), 'pronto', now()),
      ('AW-20261121-2', 'sandbox:prova', 'server', 'Send', '2026-11-21', 1, now(), 'pronto', now()),
      ('AW-20261121-3', 'vero', 'server', 'Send', '2026-11-21', 1, now(), 'pronto', now())`
    await app.sql`update invii set stato = 'da_verificare' where ricevuta = 'AW-20261121-2'`
    const { body } = await page()
    const shown = new Map(rows(body).filter(({ length }) => length === 2).map(([what, n]) => [what?.split(':')[0], n]))
    t.same(
      [...shown],
      [
        ['Utenti', '2'],
        ['Sessioni attive', '2'],
        ['pronto', '1'],
        ['da_verificare', '1'],
        ['Invii di esito sconosciuto', '0'],
        ['Invii su cui una persona deve decidere', '1'],
        ['Sospensioni degli invii in vigore', '1'],
        ['E-mail non consegnate', '1']
      ]
    )
    t.equal(body.match(/class="alarm"/g)?.length, 3)
  })

  t.test('shows the last twenty actions by their ids, and no personal data', async (t) => {
    for (let n = 0; n < 21; n++) {
      await app.audit.append(app.db, {
        actor: `chiave-${n}`,
        ip: '192.0.2.7',
        action: 'email',
        object: `mail:${n}`,
        details: { segreto: 'CANARY' }
      })
    }
    const { body } = await page()
    const actions = rows(body).filter(({ length }) => length === 5)
    t.same(
      actions.map(([, , what, who, on]) => [what, who, on]),
      Array.from({ length: 20 }, (_, n) => ['E-mail', `<code>chiave-${20 - n}</code>`, `<code>mail:${20 - n}</code>`])
    )
    t.match(actions[0]?.[1], /^<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z">\d\d\/\d\d\/\d{4}, \d\d:\d\d:\d\d<\/time>$/)
    t.notMatch(body, /CANARY|192\.0\.2\.7|@example\.org/)
  })

  t.test('escapes stored text', async (t) => {
    await app.audit.append(app.db, { actor: EVIL, action: 'email', object: EVIL })
    const { body } = await page()
    t.notMatch(body, '<img')
    t.equal(body.split('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;amp;').length, 3)
  })

  t.test('is not part of the API description, and requires the cookies', async (t) => {
    t.same(Object.keys((await app.inject('/openapi.json')).json().paths).filter((path) => path.startsWith('/ad/')), [])
    t.equal((await call('GET', '/ad/')).statusCode, 401)
  })
})

t.test('text that is put into HTML is escaped', async (t) => {
  const property = fc.property(
    fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', 'a', ';', '/', '$', '`', '\\') }),
    (text) => {
      const written = html`<b title="${text}">${[html`${text}`, html`<i></i>`]}</b>`.html
      const [, attribute, content] = /^<b title="([^"<>]*)">([^<>]*)<i><\/i><\/b>$/.exec(written) ?? []
      const read = (escaped = '') =>
        escaped.replace(
          /&(lt|gt|quot|#39|amp);/g,
          (_all, name: string) => ({ lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' })[name]!
        )
      return (
        attribute !== undefined &&
        read(attribute) === text &&
        read(content) === text &&
        !/&(?!(lt|gt|quot|#39|amp);)/.test(written)
      )
    }
  )
  t.doesNotThrow(() => fc.assert(property))
})

// Each test starts with an empty audit log.
t.beforeEach(async () => {
  await server.app.sql.unsafe(`
    alter table audit_log disable trigger user; delete from audit_log; alter table audit_log enable trigger user`)
})

/** Adds entries with these times. Their hashes are invalid, but the list does not check hashes. */
async function at (times: readonly string[]): Promise<void> {
  const row = { actor: 'sistema', action: 'email', hash: Buffer.of(0) }
  await server.app.db.insert(audit_log).values(times.map((time, n) => ({ ...row, id: n + 1, at: new Date(time) })))
}

t.test('an entry is shown with the text of its action, and without its hash', async (t) => {
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

t.test('newest entries are first, and all pages together are the whole list', async (t) => {
  for (let n = 0; n < 7; n++) await server.app.audit.append(server.app.db, entry(n))
  t.same(ids(await call('GET', AUDIT)), [7, 6, 5, 4, 3, 2, 1])
  for (const limit of [1, 3, 7, 1000]) {
    const found: number[] = []
    let next: string | undefined = `${AUDIT}?limit=${limit}&action=utente_modificato`
    while (next !== undefined) {
      const response = await call('GET', next)
      t.equal(response.headers['x-total-count'], next.includes('cursor') ? undefined : '7')
      t.ok(ids(response).length <= limit)
      found.push(...ids(response))
      next = /^<(.+)>; rel="next"$/.exec(String(response.headers.link))?.[1]
    }
    t.same(found, [7, 6, 5, 4, 3, 2, 1], `${limit} at a time`)
  }
})

t.test('an entry that is added between two pages moves no other entry', async (t) => {
  for (let n = 0; n < 4; n++) await server.app.audit.append(server.app.db, entry(n))
  const first = await call('GET', `${AUDIT}?limit=2`)
  await server.app.audit.append(server.app.db, entry(5))
  t.same(ids(first).concat(ids(await call('GET', /<(.+)>/.exec(String(first.headers.link))![1]!))), [4, 3, 2, 1])
})

t.test('filters by actor, action and object', async (t) => {
  const { app: { audit, db } } = server
  for (const [n, action] of (['accesso', 'uscita', 'accesso', 'sql'] as const).entries()) {
    await audit.append(db, entry(n % 2, { action }))
  }
  const found = async (query: string) => {
    const response = await call('GET', AUDIT + query)
    t.equal(response.headers['x-total-count'], String(ids(response).length))
    return ids(response)
  }
  t.same(await found('?action=accesso'), [3, 1])
  t.same(await found('?actor=user:1'), [4, 2])
  t.same(await found('?actor=user:1&action=sql'), [4])
  t.same(await found('?actor=user:1&action=accesso'), [])
  t.same(await found('?actor=USER:1'), [])
})

t.test('a day means the whole day in Italy, and an instant is included', async (t) => {
  await at(['2026-11-20T22:59:59.999Z', '2026-11-20T23:00:00Z', '2026-11-21T22:59:59.999Z', '2026-11-21T23:00:00Z'])
  const found = async (query: string) => ids(await call('GET', AUDIT + query))
  t.same(await found('?da=2026-11-21'), [4, 3, 2])
  t.same(await found('?a=2026-11-21'), [3, 2, 1])
  t.same(await found('?da=2026-11-21&a=2026-11-21'), [3, 2])
  t.same(await found('?da=2026-11-21T23:00:00Z'), [4])
  t.same(await found('?a=2026-11-20T22:59:59.999Z'), [1])
  t.same(await found(`?da=${encodeURIComponent('2026-11-21T00:00:00+01:00')}&a=2026-11-21T22:59:59.999Z`), [3, 2])
})

t.test('bounds in the wrong order are answered with a 400, because an empty list would be misleading', async (t) => {
  const asked = (da: string, a: string) => call('GET', `${AUDIT}?${new URLSearchParams({ da, a })}`)
  for (const [da, a] of [
    ['2026-11-22', '2026-11-20'],
    ['2026-11-21T10:00:00Z', '2026-11-21T09:59:59.999Z'],
    ['2026-11-21T10:00:00Z', '2026-11-21T10:30:00+01:00'],
    ['2026-11-21T23:59:60Z', '2026-11-21t23:59:58+00'],
    // In Italy the first instant is on 20 November, and the second on 21 November.
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

t.test('a day on which the clocks change has 23 or 25 hours', async (t) => {
  await at([
    '2026-03-28T23:00:00Z', '2026-03-29T21:59:59Z', '2026-03-29T22:00:00Z', '2026-10-24T22:00:00Z',
    '2026-10-25T22:59:59Z', '2026-10-25T23:00:00Z'
  ])
  t.same(ids(await call('GET', `${AUDIT}?da=2026-03-29&a=2026-03-29`)), [2, 1])
  t.same(ids(await call('GET', `${AUDIT}?da=2026-10-25&a=2026-10-25`)), [5, 4])
})

t.test('only administrators may read and verify the audit log', async (t) => {
  const operator = { authorization: `Bearer ${await server.token()}` }
  for (const url of [AUDIT, `${AUDIT}/verifica`]) {
    t.equal((await server.app.inject(url)).statusCode, 401)
    t.equal((await server.call('GET', url)).statusCode, 403, 'the server\'s own key')
    t.equal((await server.app.inject({ url, headers: operator })).statusCode, 403, 'as an operator')
    t.equal((await call('GET', url)).statusCode, 200)
  }
})

t.test('an invalid query is answered with a 400 that names the field', async (t) => {
  const wrong = [
    'limit=0', 'limit=1001', 'cursor=!', 'cursor=AAAA', `actor=${'a'.repeat(201)}`, 'action=altro', 'da=ieri',
    'da=2026-02-30', 'a=2026-02-30T00:00:00Z', 'da=0000-01-01T00:00:00Z',
    'da=2026-11-21T00:00:00%2B15:00', 'a=2026-11-21T00:00:00', 'altro=1'
  ]
  for (const query of wrong) {
    const response = await call('GET', `${AUDIT}?${query}`)
    t.match(response.json(), { status: 400, dettagli: [{ campo: query.split('=')[0] }] }, query)
  }
  const right = [
    'da=0001-01-01', 'a=9999-12-31', 'a=9999-12-31T23:59:59-14:00', 'da=0001-01-01T00:00:00%2B14:00',
    'a=2026-12-31T23:59:60Z'
  ]
  for (const query of right) t.equal((await call('GET', `${AUDIT}?${query}`)).statusCode, 200, query)
})

t.test('an entry written by SQL is shown, and values that the code does not know are shown unchanged', async (t) => {
  await at(['2026-11-21T00:00:00Z'])
  await server.app.sql`
    insert into audit_log (actor, action, details) values ('', 'inventata', '{"a": {"b": [1]}}')`
  const shown = (await call('GET', AUDIT)).json<{ data: AuditEvent[] }>().data
  t.match(shown, [{ id: 2, action: 'inventata', descrizione: 'inventata', details: { a: { b: [1] } } }, { id: 1 }])
})
