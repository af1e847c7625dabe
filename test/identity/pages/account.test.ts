import t from 'tap'
import { build } from '#test/helper.ts'
import { as } from '#test/identity/requests.ts'
import { codeOf } from '#test/identity/factors/authenticator.ts'
import { visitorBrowser } from './visitor.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
const NEW_KEY = '/auth/account/chiavi/nuova'

t.test('the page of a person’s account', async (t) => {
  const { app, token } = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000' })
  const service = await token({ service: true })
  const signedIn = async (email: string, role = 'operator', language = 'it') => {
    const payload = { email, password: PASSWORD, email_confirm: true, app_metadata: { role } }
    t.equal((await as(app, service, 'POST', '/auth/v1/admin/users', payload)).statusCode, 200)
    const browser = await visitorBrowser(app, language).open('/auth/accedi')
    return await browser.submit('/auth/accedi', { email, password: PASSWORD })
  }

  t.test('makes an API key with a name, scopes and an end, shows it this once, and revokes it', async (t) => {
    const browser = await signedIn('anna@example.org')
    t.match(browser.page().body, `href="${NEW_KEY}"`)
    await browser.open(NEW_KEY)
    t.notMatch(browser.page().body, 'name="amministrazione"', 'an operator has nothing to administer')
    await browser.submit(NEW_KEY, { name: 'portatile', days: '30', scrittura: '1' })
    const { statusCode, headers, body } = browser.page()
    t.match({ statusCode, headers }, { statusCode: 200, headers: { 'cache-control': 'no-store' } })
    const key = /<code>(lcd_[^<]+)<\/code>/.exec(body)![1]!
    const asks = (method: 'GET' | 'POST', url: string) =>
      app.inject({ method, url, headers: { 'x-api-key': key }, ...(method === 'POST' && { payload: {} }) })
    t.equal((await asks('GET', '/api/v1/prenotazioni')).statusCode, 200)
    t.match((await app.sql`select name, scopes, expires_at::date - created_at::date as days from api_keys`), [
      { name: 'portatile', scopes: ['lettura', 'scrittura'], days: 30 }
    ])
    await browser.open('/auth/account')
    t.match(browser.page().body, /<strong>portatile<\/strong><br>Leggere, Scrivere e modificare<br>scade il /)
    t.notMatch(browser.page().body, key)
    await browser.submit('/auth/account/chiavi/revoca')
    t.equal((await asks('GET', '/api/v1/prenotazioni')).statusCode, 401)
  })

  t.test('says in the person’s language what a key may do', async (t) => {
    for (const [language, may] of [
      ['en', 'Read, Write and change'], ['de', 'Lesen, Schreiben und ändern'], ['fr', 'Lire, Écrire et modifier']
    ] as const) {
      const browser = await signedIn(`${language}@example.org`, 'operator', language)
      await browser.open(NEW_KEY)
      await browser.submit(NEW_KEY, { name: 'portatile', days: '30', scrittura: '1' })
      await browser.open('/auth/account')
      t.match(browser.page().body, `<strong>portatile</strong><br>${may}<br>`)
    }
  })

  t.test('refuses a key without scopes, and one without a good end, and makes none', async (t) => {
    const browser = await signedIn('bice@example.org', 'admin')
    await browser.open(NEW_KEY)
    t.match(browser.page().body, 'name="amministrazione"')
    const headers = { cookie: browser.cookie(), 'content-type': 'application/x-www-form-urlencoded' }
    const none = await app.inject({ method: 'POST', url: NEW_KEY, headers, payload: 'name=x&days=30' })
    t.equal(none.statusCode, 400)
    t.match(none.body, 'role="alert">Scegli almeno una cosa')
    await browser.submit(NEW_KEY, { name: 'sempre', days: '1000' })
    t.equal(browser.page().statusCode, 400)
    t.match(browser.page().body, 'role="alert">Controlla il nome')
    t.match(browser.page().body, 'value="sempre"', 'what was written need not be written again')
    t.same(await app.sql`select 1 from api_keys where name in ('x', 'sempre')`, [])
  })

  t.test('gives second factors other names, each its own', async (t) => {
    const browser = await signedIn('ciro@example.org')
    const addApp = async () => {
      await browser.submit('/auth/account/fattori/nuovo')
      const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
      await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
      return await browser.open('/auth/account')
    }
    await addApp()
    await browser.submit('/auth/account/fattori/rinomina', { name: ' Telefono di Ciro ' })
    t.equal(browser.page().path, '/auth/account?esito=fatto')
    t.match(browser.page().body, '<strong>Telefono di Ciro</strong>')
    await addApp()
    await browser.submit('/auth/account/fattori/rinomina', { name: 'Telefono di Ciro' }, 1)
    t.equal(browser.page().statusCode, 400)
    t.match(browser.page().body, 'Un altro secondo fattore ha già questo nome.')
    t.equal((await app.sql`select 1 from audit_log where details ->> 'fields' = '["friendly_name"]'`).length, 1)
  })

  t.test('renames nobody else’s factor', async (t) => {
    await signedIn('dora@example.org')
    const [{ id }] = await app.sql<[{ id: string }]>`select id from factors limit 1`
    const { access_token: access } = (await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=password',
      payload: { email: 'dora@example.org', password: PASSWORD }
    })).json<{ access_token: string }>()
    const answer = await as(app, access, 'PATCH', `/auth/v1/factors/${id}`, { friendly_name: 'mio' })
    t.match(answer.json(), { error_code: 'mfa_factor_not_found' })
    t.same(await app.sql`select 1 from factors where friendly_name = 'mio'`, [])
  })
})
