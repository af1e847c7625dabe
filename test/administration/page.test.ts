import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import { html } from '#src/lib/html.ts'
import { build, signIn } from '#test/helper.ts'
import { granted } from './browser.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
const EVIL = '<img src=x onerror="alert(1)">\'&amp;'

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

  t.test('is HTML without scripts, and its policy lets nothing in but its own style sheet', async (t) => {
    const { statusCode, headers, body } = await page()
    t.equal(statusCode, 200)
    t.equal(headers['content-type'], 'text/html; charset=utf-8')
    t.equal(headers['cache-control'], 'no-store')
    t.match(headers, { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
    const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ''
    t.equal(
      headers['content-security-policy'],
      `default-src 'none';style-src 'sha256-${hash('sha256', style, 'base64')}';` +
        "base-uri 'none';form-action 'none';frame-ancestors 'none'"
    )
    t.ok(style.length > 50)
    t.notMatch(body, /<(script|img|iframe|form|object|embed|link|base)|\son\w+=|style="|javascript:/i)
    t.match(body, /^<!doctype html>\n<html lang="it">/)
    t.same([...body.matchAll(/href="([^"]*)"/g)].map(([, href]) => href), ['/docs', '/openapi.json', '/health/ready'])
    for (const url of ['/docs', '/openapi.json', '/health/ready']) t.ok((await app.inject(url)).statusCode < 400, url)
  })

  t.test('says which version runs and in which mode, and how many there are of what', async (t) => {
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

  t.test('says what became of the submissions, and what waits for a person', async (t) => {
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
    t.match(actions[0]?.[1], /^<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z">\d\d\/\d\d\/\d\d, \d\d:\d\d:\d\d<\/time>$/)
    t.notMatch(body, /CANARY|192\.0\.2\.7|@example\.org/)
  })

  t.test('writes whatever is stored as text', async (t) => {
    await app.audit.append(app.db, { actor: EVIL, action: 'email', object: EVIL })
    const { body } = await page()
    t.notMatch(body, '<img')
    t.equal(body.split('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;amp;').length, 3)
  })

  t.test('is only looked at: it is not among what the API describes', async (t) => {
    t.same(Object.keys((await app.inject('/openapi.json')).json().paths).filter((path) => path.startsWith('/ad/')), [])
    t.equal((await call('GET', '/ad/')).statusCode, 401)
  })
})

t.test('text put into HTML stays text, whatever it is', async (t) => {
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
