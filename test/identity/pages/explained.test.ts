import { randomUUID } from 'node:crypto'
import t from 'tap'
import { build } from '#test/helper.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { as } from '#test/identity/requests.ts'
import { errorOf, visitorBrowser } from './visitor.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0'

t.test('a person whom a step is refused is told what helps', async (t) => {
  const site = async (more = {}) => {
    const { app, token } = await build(t, {
      RATE_LIMIT_LOGIN_MAX: '1000', PUBLIC_URL: 'http://localhost:4000', ...more
    })
    const service = await token({ service: true })
    const person = async (email: string) => {
      const payload = { email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'operator' } }
      const { id } = (await as(app, service, 'POST', '/auth/v1/admin/users', payload)).json<{ id: string }>()
      const browser = await visitorBrowser(app).open('/auth/accedi')
      await browser.submit('/auth/accedi', { email, password: PASSWORD })
      const post = async (url: string) => await app.inject({
        method: 'POST',
        url,
        headers: { cookie: browser.cookie(), 'content-type': 'application/x-www-form-urlencoded' },
        payload: ''
      })
      const age = async () => {
        await app.sql`
          update sessions set created_at = now() - interval '2 days', amr = (
            select jsonb_agg(each || jsonb_build_object('timestamp', (each->>'timestamp')::int - 2 * 86400))
            from jsonb_array_elements(amr) as each)
          where user_id = ${id}`
      }
      return { id, browser, post, age }
    }
    return { app, person }
  }
  const { app, person } = await site()

  t.test('a day after signing in: the present password, or where there is none, to sign in again', async (t) => {
    const { id, browser, post, age } = await person('anna@example.org')
    await age()
    await browser.open('/auth/password')
    await browser.submit('/auth/password', { password: `${PASSWORD}-2` })
    t.equal(errorOf(browser.page().body, 'current'), 'Scrivi anche la password attuale.')
    t.match((await post('/auth/account/passkey/opzioni')).body, 'esci e accedi di nuovo')
    await app.sql`update users set password_hash = null where id = ${id}`
    await browser.open('/auth/password')
    await browser.submit('/auth/password', { password: `${PASSWORD}-2` })
    t.equal(errorOf(browser.page().body, 'current'), undefined)
    t.match(browser.page().body, /role="alert">L’accesso è di più di un giorno fa: .* esci e accedi di nuovo/)
  })

  t.test('with the passkeys that one may have: to remove one of them', async (t) => {
    const { id, post } = await person('bice@example.org')
    for (let n = 0; n < 10; n++) {
      await app.sql`insert into webauthn_credentials (user_id, credential_id, public_key, counter, transports)
        values (${id}, ${randomUUID()}, '', 0, '{}')`
    }
    t.match((await post('/auth/account/passkey/opzioni')).body, 'troppe passkey: prima eliminane una')
  })

  t.test('without the factor that the server wants proven: to add one, which is the proof', async (t) => {
    const { app, person } = await site({ REQUIRE_RECENT_MFA: 'true' })
    const { browser } = await person('ciro@example.org')
    await browser.open('/auth/account/chiavi/nuova')
    await browser.submit('/auth/account/chiavi/nuova', { name: 'portatile', days: '30', lettura: '1' })
    t.match(browser.page().body, 'Per continuare serve un secondo fattore: aggiungine uno.')
    await browser.submit('/auth/account/fattori/nuovo')
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
    await forgetCodes(app)
    await browser.open('/auth/account/chiavi/nuova')
    await browser.submit('/auth/account/chiavi/nuova', { name: 'portatile', days: '30', lettura: '1' })
    t.match(browser.page().body, /<code>lcd_/)
  })

  t.test('and sessions are named as people know them', async (t) => {
    const { id, browser } = await person('dino@example.org')
    const names = [[FIREFOX, 'Firefox, Windows'], ['un-programma/1', 'un-programma/1'], ['', 'Dispositivo']] as const
    for (const [agent, name] of names) {
      await app.sql`update sessions set user_agent = ${agent} where user_id = ${id}`
      await browser.open('/auth/account')
      t.match(browser.page().body, `<strong>${name}`)
    }
  })
})
