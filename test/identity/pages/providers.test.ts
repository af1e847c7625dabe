import t from 'tap'
import { browser } from '#test/identity/oauth/browser.ts'
import { setting } from '#test/identity/oauth/setting.ts'
import { as } from '#test/identity/requests.ts'

const PASSWORD = 'una-frase-lunga-e-mia'

t.test('the pages of who signs in through a provider', async (t) => {
  const { app, base, call, token, provider } = await setting(t, {
    SIGNUP_ENABLED: 'true', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'Locanda <noreply@example.org>'
  })
  provider.person = { sub: 'anna-1', email: 'anna@example.org', email_verified: true, name: 'Anna Bianchi' }
  const form = (code: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ code }).toString()
  })

  t.test('lead to the provider and back, and a button ends the sign-in in the same browser alone', async (t) => {
    t.match((await call('GET', '/auth/accedi')).body, '<a href="/auth/accedi/con/google">Accedi con Google</a>')
    const own = browser('/auth/accedi/ritorno')
    const codeOf = ({ url }: { url: URL }) => url.searchParams.get('code')!
    const back = await own.go(`${base}/auth/accedi/con/google`)
    const page = await own.ask(back.url.href)
    t.equal(page.status, 200)
    t.match(await page.text(), 'Premi il pulsante per finire l’accesso')
    t.same(await app.sql`select id from sessions`, [], 'the address alone takes nothing')
    const other = browser('')
    await other.ask(`${base}/auth/accedi`)
    t.equal((await other.ask(`${base}/auth/accedi/ritorno`, form(codeOf(back)))).status, 400)

    const code = codeOf(await own.go(`${base}/auth/accedi/con/google`))
    await own.ask(`${base}/auth/accedi`)
    const signedIn = await own.ask(`${base}/auth/accedi/ritorno`, form(code))
    t.equal(signedIn.status, 303)
    t.equal(signedIn.headers.get('location'), '/auth/account')
    t.match(await (await own.ask(`${base}/auth/account`)).text(), '<strong>google</strong>')
    const twice = await own.ask(`${base}/auth/accedi/ritorno`, form(code))
    t.equal(twice.status, 400)
    t.match(await twice.text(), 'L’accesso con l’altro servizio non è riuscito')
  })

  t.test('link another provider to the account that is signed in, and unlink it, by buttons', async (t) => {
    const payload = { email: 'bice@example.org', password: PASSWORD, email_confirm: true }
    const made = await as(app, await token({ service: true }), 'POST', '/auth/v1/admin/users', payload)
    const { id } = made.json<{ id: string }>()
    const bicesBrowser = async () => {
      const own = browser('/auth/account/collegamenti/ritorno')
      const send = async (path: string, fields: Record<string, string>) => await own.ask(`${base}${path}`, {
        ...form(''), body: new URLSearchParams(fields).toString()
      })
      await own.ask(`${base}/auth/accedi`)
      t.equal((await send('/auth/accedi', { email: 'bice@example.org', password: PASSWORD })).status, 303)
      return { own, send, account: async () => await (await own.ask(`${base}/auth/account`)).text() }
    }
    const { own: another } = await bicesBrowser()
    const taken = await another.go(`${base}/auth/account/collegamenti/con/google`)
    t.match(await (await another.ask(taken.url.href)).text(), 'già collegato a un altro account')

    const { own, send, account } = await bicesBrowser()
    t.match(await account(), '<a href="/auth/account/collegamenti/con/google">Collega Google</a>')
    const sessions = () => app.sql`select id from sessions where user_id = ${id} order by id`
    const before = await sessions()
    provider.person = { sub: 'bice-1', email: 'bice@altrove.example', email_verified: true }
    const back = await own.go(`${base}/auth/account/collegamenti/con/google`)
    t.match(await (await own.ask(back.url.href)).text(), 'Premi il pulsante per collegarlo al tuo account')
    const linked = () => app.sql`select provider from identities where user_id = ${id} order by provider`
    t.same(await linked(), [{ provider: 'email' }], 'the address alone links nothing')
    const code = back.url.searchParams.get('code')!
    const done = await send('/auth/account/collegamenti/ritorno', { code })
    t.equal(done.headers.get('location'), '/auth/account?esito=fatto')
    t.same(await linked(), [{ provider: 'email' }, { provider: 'google' }])
    t.same(await sessions(), before, 'the session of the page goes on, and no other begins')

    const page = await account()
    t.notMatch(page, 'Collega Google')
    const [, identity = ''] = /collegamenti\/scollega">\n<input type="hidden" name="id" value="([^"]+)"/.exec(page)!
    t.equal((await send('/auth/account/collegamenti/scollega', { id: identity })).status, 303)
    t.same(await linked(), [{ provider: 'email' }])
    const stranger = await call('GET', '/auth/account/collegamenti/con/google')
    t.match(stranger, { statusCode: 303, headers: { location: '/auth/accedi' } })
  })

  t.test('say so when a provider has refused, and know no other provider', async (t) => {
    const refused = await call('GET', '/auth/accedi/ritorno?error=access_denied&error_description=%3Cb%3E')
    t.equal(refused.statusCode, 400)
    t.match(refused.body, 'L’accesso con l’altro servizio non è riuscito. Riprova.')
    t.notMatch(refused.body, '<b>')
    t.equal((await call('GET', '/auth/accedi/con/altro')).statusCode, 404)
  })
})
