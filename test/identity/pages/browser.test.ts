import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { de } from '#src/identity/sign-in/mail-texts/mail-de.ts'
import { CHROMIUM, DEVICE, NO_COOKIES } from '#test/chromium.ts'
import { freePort } from '#test/free-port.ts'
import { build } from '#test/helper.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { read } from '#test/identity/mail/mailbox.ts'
import { setting } from '#test/identity/oauth/setting.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { callAs } from '#test/identity/requests.ts'
import { startSmtp } from '#test/smtp.ts'
import { LOOK_MS, typist } from './keyboard.ts'

const EMAIL = 'anna@example.org'
const skip = CHROMIUM ? false : 'no Chromium is installed'

t.test('the pages in a browser', { skip }, async (t) => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const smtp = await startSmtp(t)
  const server = await build(t, {
    PUBLIC_URL: url, RATE_LIMIT_LOGIN_MAX: '1000', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example'
  })
  const { app, token } = server
  /** The next mail to an address: its subject and its first paragraph. */
  const toldTo = async (address: string) => {
    for (;;) {
      const { envelope, subject, text } = await smtp.next()
      if (envelope.to.includes(address)) return [subject, text.split(/\r?\n\r?\n/)[0]]
    }
  }
  await app.listen({ host: '127.0.0.1', port })
  const service = await token({ service: true })
  const linkOf = async (type: string) => {
    const { hashed_token: link } = (await callAs(app, service, 'POST', '/auth/v1/admin/generate_link', {
      type, email: EMAIL
    })).json<{ hashed_token: string }>()
    return `${url}/auth/conferma?token=${link}&type=${type}`
  }
  const person = await typist(t, `${url}/health/live`)
  const { open, press, hit, write, faults, evaluate, send } = person
  const button = (action: string) => `form[action="${action}"] button`

  t.test('an administrator opens the pages under /ad/ from the account, and they fit a phone', async (t) => {
    const email = 'ada@example.org'
    await createPerson(server, email, { app_metadata: { role: 'admin' } })
    await open(`${url}/auth/accedi`)
    await write('#email', email)
    await write('#password', PASSWORD)
    await press(button('/auth/accedi'))
    t.equal(await press(button('/auth/account/amministrazione')), '/ad/')
    t.equal(await evaluate('document.querySelector("h1").textContent'), 'Amministrazione')
    t.ok(await evaluate('document.querySelectorAll("table.actions time").length > 0'))
    t.same(await faults(), [])
    await open(`${url}/auth/account`)
    await press(button('/auth/esci'))
  })

  t.test('with the keyboard alone: invitation, password, sign-in, app, sign-out, code, account', async (t) => {
    await open(await linkOf('invite'))
    t.same(await faults(), [])
    t.equal(await press(button('/auth/conferma')), '/auth/password')
    await write('#password', 'corta')
    t.equal(await press(button('/auth/password')), '/auth/password')
    t.same(await faults(), [])
    t.equal(await evaluate('document.activeElement.id'), 'password', 'the focus is on the invalid field')
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/password')), '/auth/account?esito=password')
    t.same(await faults(), [])
    t.equal(await press(button('/auth/esci')), '/auth/accedi?esito=uscita')

    await write('#email', EMAIL)
    await write('#password', 'sbagliata')
    t.equal(await press(button('/auth/accedi')), '/auth/accedi')
    t.same(await faults(), [])
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/account')

    t.equal(await press(button('/auth/account/fattori/nuovo')), '/auth/account/fattori/nuovo')
    t.same(await faults(), [])
    const secret = (await evaluate<string>("document.querySelector('code').textContent")).replaceAll(' ', '')
    await write('#code', '000000')
    await press(button('/auth/account/fattori/conferma'))
    t.same(await faults(), [])
    t.match(await evaluate("document.querySelector('[href^=otpauth]').href"), secret, 'the page shows the secret')
    await write('#code', codeOf(secret))
    await press(button('/auth/account/fattori/conferma'))
    t.equal(await evaluate("document.querySelectorAll('ol.codes li').length"), 10)
    t.same(await faults(), [])
    t.equal(await press('a[href="/auth/"]'), '/auth/account')
    t.same(await faults(), [])
    t.equal(await press(button('/auth/esci')), '/auth/accedi?esito=uscita')

    await write('#email', EMAIL)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/verifica')
    t.same(await faults(), [])
    await write('#code-0', '000000')
    await press(button('/auth/verifica'))
    t.same(await faults(), [])
    t.equal(await evaluate(`(() => {
      let sent = 0
      document.addEventListener('submit', (event) => {
        if (!event.defaultPrevented) sent++
        event.preventDefault()
      })
      const pressed = document.querySelector(${JSON.stringify(button('/auth/verifica'))})
      pressed.form.noValidate = true
      pressed.click()
      pressed.click()
      return sent
    })()`), 1, 'a double click sends the form once: the code can be used once')
    await open(`${url}/auth/verifica`)
    await forgetCodes(app)
    await write('#code-0', codeOf(secret))
    t.equal(await press(button('/auth/verifica')), '/auth/account')
    t.match(await evaluate('document.body.innerText'), EMAIL)
  })

  t.test('a device signs in as a passkey, or is the second factor', async (t) => {
    await send('WebAuthn.enable')
    const addDevice = async () => String((await send('WebAuthn.addVirtualAuthenticator', {
      options: { ...DEVICE, transport: 'internal' }
    })).authenticatorId)
    const email = 'bice@example.org'
    await createPerson(server, email, { user_metadata: { lingua: 'de' } })
    await open(`${url}/auth/account`)
    await press(button('/auth/esci'))
    await write('#email', email)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/account')
    const passkey = await addDevice()
    t.equal(await press(button('/auth/account/passkey')), '/auth/account?esito=fatto')
    t.equal((await app.sql`select 1 from webauthn_credentials`).length, 1)
    t.same(await toldTo(email), de.notices.passkey_added.slice(0, 2), 'the user gets a mail in their language')
    t.same(await faults(), [])
    await press(button('/auth/esci'))
    await send('WebAuthn.setUserVerified', { authenticatorId: passkey, isUserVerified: false })
    await hit(button('/auth/accedi/passkey'))
    while (await evaluate("document.querySelector('[role=alert]').textContent") === '') await sleep(LOOK_MS)
    t.same(await faults(), [], 'the page reports that the device did not verify the user')
    await send('WebAuthn.setUserVerified', { authenticatorId: passkey, isUserVerified: true })
    t.equal(await press(button('/auth/accedi/passkey')), '/auth/account')
    t.match(await evaluate('document.body.innerText'), email)

    await send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: passkey })
    await addDevice()
    t.equal(await press(button('/auth/account/dispositivo')), '/auth/account/dispositivo')
    t.equal(await evaluate("document.querySelectorAll('ol.codes li').length"), 10)
    await press('a[href="/auth/"]')
    await press(button('/auth/esci'))
    await write('#email', email)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/verifica')
    t.same(await faults(), [])
    t.equal(await press(button('/auth/verifica/dispositivo')), '/auth/account')
    t.same(await faults(), [])
    const opening = (action: string) => `details:has([action="/auth/account/passkey/${action}"]) summary`
    await hit(opening('rinomina'))
    t.same(await faults(), [])
    await write('section:has([action="/auth/account/passkey"]) [name=name]', 'Il portatile')
    t.equal(await press(button('/auth/account/passkey/rinomina')), '/auth/account?esito=fatto')
    t.match(await evaluate('document.body.innerText'), 'Il portatile')
    await hit(opening('rimuovi'))
    t.equal(await press(button('/auth/account/passkey/rimuovi')), '/auth/account?esito=fatto')
    t.equal((await app.sql`select 1 from webauthn_credentials where factor_id is null`).length, 0)
    t.same(await toldTo(email), de.notices.factor_added.slice(0, 2))
    t.same(await toldTo(email), de.notices.recovery_codes.slice(0, 2))
    t.same(await toldTo(email), de.notices.passkey_removed.slice(0, 2), 'a mail reports the removal')
  })

  t.test('an API key is created by keyboard', async (t) => {
    await open(`${url}/auth/account`)
    t.equal(await press('a[href="/auth/account/chiavi/nuova"]'), '/auth/account/chiavi/nuova')
    t.same(await faults(), [])
    await write('#name', 'portatile')
    await press(button('/auth/account/chiavi/nuova'))
    t.match(await evaluate("document.querySelector('code').textContent"), /^lcd_/)
    t.same(await faults(), [])
  })

  t.test('the browser returns to a front end, with one key press if the person is already signed in', async (t) => {
    const back = `${url}/health/live`
    const query = new URLSearchParams({
      redirect_to: back, code_challenge: 'x'.repeat(43), code_challenge_method: 'plain'
    })
    await open(`${url}/auth/accedi?${query.toString()}`)
    t.same(await faults(), [])
    await hit(button('/auth/accedi/continua'))
    while (!(await evaluate<string>('location.href').catch(() => '')).startsWith(`${back}?code=`)) await sleep(LOOK_MS)
  })

  t.test('a button for devices opens the sign-in page when the session has ended', async (t) => {
    const { id, email } = await createPerson(server, 'carla@example.org')
    await open(`${url}/auth/account`)
    await press(button('/auth/esci'))
    await write('#email', email)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/account')
    await app.sql`delete from sessions where user_id = ${id}`
    t.match(await press(button('/auth/account/passkey')), /^\/auth\/accedi/)
  })

  t.test('a browser without cookies gets an explanation, with a password and with a passkey', async (t) => {
    const options = { settings: NO_COOKIES }
    const { open, write, press, hit, faults, evaluate } = await typist(t, `${url}/health/live`, options)
    const isReported = () => evaluate<boolean>("document.querySelector('[role=alert]').textContent.includes('cookie')")
    await open(`${url}/auth/account`)
    await write('#email', EMAIL)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/accedi')
    t.ok(await isReported())
    t.same(await faults(), [])
    t.equal(await press('a[href="/auth/"]'), '/auth/accedi')
    await hit(button('/auth/accedi/passkey'))
    while (await evaluate("document.querySelector('[role=alert]').textContent") === '') await sleep(LOOK_MS)
    t.ok(await isReported())
  })

  t.test('axe finds no error on the pages before the sign-in, and none is wider than a phone', async (t) => {
    await callAs(app, service, 'POST', '/auth/v1/admin/users', { email: 'altra@example.org', password: PASSWORD })
    // Signed out.
    await app.sql`delete from sessions`
    const pages = [
      '/auth/accedi', '/auth/recupera', '/auth/recupera?esito=inviata', '/auth/conferma',
      '/auth/conferma?token=x&type=magiclink', '/auth/conferma?token=x&type=signup', '/auth/accedi/ritorno',
      '/auth/accedi/ritorno?code=x', '/auth/accedi?esito=a&esito=b', '/auth/nessuna'
    ]
    for (const path of pages) {
      await open(url + path)
      t.same(await faults(), [])
    }
    await open(`${url}/auth/conferma?token=x&type=invite`)
    await press(button('/auth/conferma'))
    t.same(await faults(), [])
    await evaluate("document.documentElement.removeAttribute('lang'); 0")
    t.match((await faults())[0], 'html-has-lang', 'a fault is detected')
  })
})

const LINKS = '/auth/account/collegamenti'

t.test('with only the keyboard, on pages without errors', { skip }, async (t) => {
  const smtp = await startSmtp(t)
  const server = await setting(t, {
    SIGNUP_ENABLED: 'true',
    SMTP_URL: smtp.url,
    MAIL_FROM: 'posta@locanda.example',
    RATE_LIMIT_LOGIN_MAX: '1000',
    RATE_LIMIT_MAIL_MAX: '1000',
    REQUIRE_MFA: 'admin'
  })
  const { app, base, provider, token } = server
  const service = await token({ service: true })
  const { open, press, hit, write, faults, evaluate } = await typist(t, `${base}/health/live`)
  const button = (action: string) => `form[action="${action}"] button`
  const focus = () => evaluate<string>('document.activeElement.id')

  /** The next mail with a link or a code. Notices are skipped. */
  const letter = async () => {
    for (;;) {
      const mail = read(await smtp.next())
      if (mail.token !== '') return mail
    }
  }
  const post = async (url: string, payload: object, by = service, method: 'POST' | 'PUT' = 'POST') => {
    const response = await callAs(app, by, method, url, payload)
    t.equal(response.statusCode, 200, url)
    return response
  }
  const person = (email: string, role = 'operator') => createPerson(server, email, { app_metadata: { role } })
  /** Replaces the signed-in person. */
  const signIn = async (email: string, from = '/auth/accedi') => {
    await open(`${base}/auth/account`)
    await press(button('/auth/esci'))
    await open(base + from)
    await write('#email', email)
    await write('#password', PASSWORD)
    return await press(button('/auth/accedi'))
  }
  /** The page for a mail's link, even if that redirects to the front end. */
  const pageOf = ({ link }: { link: string }) => `${base}/auth/conferma${new URL(link).search}`
  const take = async (mail: { link: string }) => {
    await open(pageOf(mail))
    t.same(await faults(), [])
    const path = await press(button('/auth/conferma'))
    t.same(await faults(), [])
    return path
  }

  t.test('a person signs in through a provider, and waits for approval', async (t) => {
    provider.person = { sub: 'anna-1', email: 'anna@example.org', email_verified: true, name: 'Anna Bianchi' }
    await open(`${base}/auth/accedi`)
    t.same(await faults(), [])
    t.match(await press('a[href="/auth/accedi/con/google"]'), '/auth/accedi/ritorno?code=')
    t.same(await faults(), [])
    t.equal(await press(button('/auth/accedi/ritorno')), '/auth/account')
    t.same(await faults(), [])
    t.match(await evaluate('document.body.innerText'), /google.*anna@example\.org/s)
  })

  t.test('a person links a provider to the account, and unlinks it', async (t) => {
    await person('bice@example.org')
    await signIn('bice@example.org')
    t.match(await press(`a[href="${LINKS}/con/google"]`), `${LINKS}/ritorno?error=`, 'another account has it')
    t.same(await faults(), [])
    t.equal(await press('a[href="/auth/account"]'), '/auth/account')
    provider.person = { sub: 'bice-1', email: 'bice@altrove.example', email_verified: true }
    t.match(await press(`a[href="${LINKS}/con/google"]`), `${LINKS}/ritorno?code=`)
    t.same(await faults(), [])
    t.equal(await press(button(`${LINKS}/ritorno`)), '/auth/account?esito=fatto')
    t.same(await faults(), [])
    await hit(`details:has([action="${LINKS}/scollega"]) summary`)
    t.same(await faults(), [])
    t.equal(await press(button(`${LINKS}/scollega`)), '/auth/account?esito=fatto')
    t.notMatch(await evaluate('document.body.innerText'), 'bice@altrove.example')
  })

  t.test('a person who forgot the password requests a mail, and sets another one', async (t) => {
    await person('carla@example.org')
    await open(`${base}/auth/account`)
    await press(button('/auth/esci'))
    t.equal(await press('a[href="/auth/recupera"]'), '/auth/recupera')
    await write('#email', 'carla')
    await evaluate('document.forms[0].noValidate = true; 0')
    await press(button('/auth/recupera'))
    t.same(await faults(), [])
    t.equal(await focus(), 'email')
    await write('#email', 'carla@example.org')
    t.equal(await press(button('/auth/recupera')), '/auth/recupera?esito=inviata')
    t.same(await faults(), [])
    t.equal(await take(await letter()), '/auth/password')
    await write('#password', `${PASSWORD}-2`)
    t.equal(await press(button('/auth/password')), '/auth/account?esito=password')
  })

  t.test('the current password is required when the sign-in was long ago', async (t) => {
    await app.sql`update sessions set created_at = now() - interval '2 days'`
    t.equal(await press('a[href="/auth/password"]'), '/auth/password')
    await write('#password', `${PASSWORD}-3`)
    await press(button('/auth/password'))
    t.same(await faults(), [])
    t.equal(await focus(), 'current')
    await write('#current', 'sbagliata')
    await write('#password', `${PASSWORD}-3`)
    await press(button('/auth/password'))
    t.same(await faults(), [])
    await write('#current', `${PASSWORD}-2`)
    await write('#password', `${PASSWORD}-3`)
    t.equal(await press(button('/auth/password')), '/auth/account?esito=password')
  })

  t.test('an address is confirmed by the link of a mail, and by its code', async (t) => {
    await post('/auth/v1/signup', { email: 'dora@example.org', password: PASSWORD })
    t.equal(await take(await letter()), '/auth/password')
    await post('/auth/v1/signup', { email: 'elio@example.org', password: PASSWORD })
    const { code } = await letter()
    await open(`${base}/auth/conferma`)
    for (const typed of ['000000', code]) {
      await write('#email', 'elio@example.org')
      await write('#code', typed)
      await press(button('/auth/conferma/codice'))
      t.same(await faults(), [])
    }
  })

  t.test('after the first link of a change of address, the page waits for the second', async (t) => {
    await person('fede@example.org')
    const { access_token: access } = (await post('/auth/v1/token?grant_type=password', {
      email: 'fede@example.org', password: PASSWORD
    })).json<{ access_token: string }>()
    await post('/auth/v1/user', { email: 'federica@example.org' }, access, 'PUT')
    const [first, second] = [await letter(), await letter()]
    t.equal(await take(first), '/auth/conferma')
    await open(pageOf(first))
    t.same(await faults(), [])
    t.equal(await take(second), '/auth/account?esito=indirizzo')
  })

  t.test('a person who must have a second factor enrols one, and renames it', async (t) => {
    await person('gino@example.org', 'admin')
    await signIn('gino@example.org')
    t.same(await faults(), [])
    await open(`${base}/auth/account?esito=fattore`)
    t.same(await faults(), [])
    await press(button('/auth/account/fattori/nuovo'))
    const secret = (await evaluate<string>("document.querySelector('code').textContent")).replaceAll(' ', '')
    await write('#code', codeOf(secret))
    await press(button('/auth/account/fattori/conferma'))
    await press('a[href="/auth/"]')
    t.same(await faults(), [])
    const opening = (action: string) => `details:has([action="/auth/account/${action}"]) summary`
    for (const action of ['fattori/rinomina', 'fattori/rimuovi', 'codici']) await hit(opening(action))
    t.same(await faults(), [], 'with the forms expanded')
    await write('[action="/auth/account/fattori/rinomina"] [name=name]', 'Il telefono')
    t.equal(await press(button('/auth/account/fattori/rinomina')), '/auth/account?esito=fatto')
    t.match(await evaluate('document.body.innerText'), 'Il telefono')
  })

  t.test('the remaining pages have no errors', async (t) => {
    const pages = [
      '/auth/accedi?esito=uscita', '/auth/accedi/con/altro', '/auth/accedi/passkey/opzioni',
      '/auth/accedi?redirect_to=https://evil.example/', `${LINKS}/ritorno`,
      '/auth/conferma?token=x&type=recovery', '/auth/conferma?token=x&type=email_change', '/auth/account/chiavi/nuova'
    ]
    for (const path of pages) {
      await open(base + path)
      t.same(await faults(), [])
    }
  })
})
