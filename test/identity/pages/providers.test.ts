import t from 'tap'
import { browser } from '#test/identity/oauth/browser.ts'
import { setting } from '#test/identity/oauth/setting.ts'

t.test('the pages of who signs in through a provider', async (t) => {
  const { app, base, call, provider } = await setting(t, {
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

  t.test('say so when a provider has refused, and know no other provider', async (t) => {
    const refused = await call('GET', '/auth/accedi/ritorno?error=access_denied&error_description=%3Cb%3E')
    t.equal(refused.statusCode, 400)
    t.match(refused.body, 'L’accesso con l’altro servizio non è riuscito. Riprova.')
    t.notMatch(refused.body, '<b>')
    t.equal((await call('GET', '/auth/accedi/con/altro')).statusCode, 404)
  })
})
