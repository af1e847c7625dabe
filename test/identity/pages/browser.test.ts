import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CHROMIUM, DEVICE, NO_COOKIES } from '#test/chromium.ts'
import { de } from '#src/identity/sign-in/mail-texts/de.ts'
import { build } from '#test/helper.ts'
import { as } from '#test/identity/requests.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { startSmtp } from '#test/smtp.ts'
import { LOOK_MS, typist } from './keyboard.ts'
import { freePort } from '#test/free-port.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
const EMAIL = 'anna@example.org'
const skip = CHROMIUM ? false : 'no Chromium is installed'

t.test('the pages in a browser', { skip }, async (t) => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const smtp = await startSmtp(t)
  const { app, token } = await build(t, {
    PUBLIC_URL: url, RATE_LIMIT_LOGIN_MAX: '1000', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example'
  })
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
    const { hashed_token: link } = (await as(app, service, 'POST', '/auth/v1/admin/generate_link', {
      type, email: EMAIL
    })).json<{ hashed_token: string }>()
    return `${url}/auth/conferma?token=${link}&type=${type}`
  }
  const person = await typist(t, `${url}/health/live`)
  const { open, press, hit, write, faults, evaluate, send } = person
  const button = (action: string) => `form[action="${action}"] button`

  t.test('by keyboard alone: invitation, password, sign-in, app, sign-out, sign-in with a code, account', async (t) => {
    await open(await linkOf('invite'))
    t.same(await faults(), [])
    t.equal(await press(button('/auth/conferma')), '/auth/password')
    await write('#password', 'corta')
    t.equal(await press(button('/auth/password')), '/auth/password')
    t.same(await faults(), [])
    t.equal(await evaluate('document.activeElement.id'), 'password', 'the focus is on the field that is refused')
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
    t.match(await evaluate("document.querySelector('[href^=otpauth]').href"), secret, 'what the app needs is there')
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
    })()`), 1, 'a double click sends the form once: the code is good for one time')
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
    const payload = {
      email,
      password: PASSWORD,
      email_confirm: true,
      app_metadata: { role: 'operator' },
      user_metadata: { lingua: 'de' }
    }
    t.equal((await as(app, service, 'POST', '/auth/v1/admin/users', payload)).statusCode, 200)
    await open(`${url}/auth/account`)
    await press(button('/auth/esci'))
    await write('#email', email)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/account')
    const passkey = await addDevice()
    t.equal(await press(button('/auth/account/passkey')), '/auth/account?esito=fatto')
    t.equal((await app.sql`select 1 from webauthn_credentials`).length, 1)
    t.same(await toldTo(email), de.notices.passkey_added.slice(0, 2), 'the person is told by mail, in their language')
    t.same(await faults(), [])
    await press(button('/auth/esci'))
    await send('WebAuthn.setUserVerified', { authenticatorId: passkey, isUserVerified: false })
    await hit(button('/auth/accedi/passkey'))
    while (await evaluate("document.querySelector('[role=alert]').textContent") === '') await sleep(LOOK_MS)
    t.same(await faults(), [], 'the device does not know who is there, and the page says so')
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
    t.same(await toldTo(email), de.notices.passkey_removed.slice(0, 2), 'and of what is removed')
  })

  t.test('an API key is made by keyboard', async (t) => {
    await open(`${url}/auth/account`)
    t.equal(await press('a[href="/auth/account/chiavi/nuova"]'), '/auth/account/chiavi/nuova')
    t.same(await faults(), [])
    await write('#name', 'portatile')
    await press(button('/auth/account/chiavi/nuova'))
    t.match(await evaluate("document.querySelector('code').textContent"), /^lcd_/)
    t.same(await faults(), [])
  })

  t.test('a front end is come back to, by one press where the person is signed in already', async (t) => {
    const back = `${url}/health/live`
    const query = new URLSearchParams({
      redirect_to: back, code_challenge: 'x'.repeat(43), code_challenge_method: 'plain'
    })
    await open(`${url}/auth/accedi?${query.toString()}`)
    t.same(await faults(), [])
    await hit(button('/auth/accedi/continua'))
    while (!(await evaluate<string>('location.href').catch(() => '')).startsWith(`${back}?code=`)) await sleep(LOOK_MS)
  })

  t.test('a button for devices leads to the page to sign in where the session has ended meanwhile', async (t) => {
    const payload = {
      email: 'carla@example.org', password: PASSWORD, email_confirm: true, app_metadata: { role: 'operator' }
    }
    const { id } = (await as(app, service, 'POST', '/auth/v1/admin/users', payload)).json<{ id: string }>()
    await open(`${url}/auth/account`)
    await press(button('/auth/esci'))
    await write('#email', payload.email)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/account')
    await app.sql`delete from sessions where user_id = ${id}`
    t.match(await press(button('/auth/account/passkey')), /^\/auth\/accedi/)
  })

  t.test('whoever keeps no cookies is told so, with a password and with a passkey', async (t) => {
    const { open, write, press, hit, faults, evaluate } = await typist(t, `${url}/health/live`, NO_COOKIES)
    const isTold = () => evaluate<boolean>("document.querySelector('[role=alert]').textContent.includes('cookie')")
    await open(`${url}/auth/account`)
    await write('#email', EMAIL)
    await write('#password', PASSWORD)
    t.equal(await press(button('/auth/accedi')), '/auth/accedi')
    t.ok(await isTold())
    t.same(await faults(), [])
    t.equal(await press('a[href="/auth/"]'), '/auth/accedi')
    await hit(button('/auth/accedi/passkey'))
    while (await evaluate("document.querySelector('[role=alert]').textContent") === '') await sleep(LOOK_MS)
    t.ok(await isTold())
  })

  t.test('no page has a fault that axe knows, nor is wider than a telephone', async (t) => {
    await as(app, service, 'POST', '/auth/v1/admin/users', { email: 'altra@example.org', password: PASSWORD })
    // Signed out.
    await app.sql`delete from sessions`
    const pages = [
      '/', '/auth/accedi', '/auth/recupera', '/auth/recupera?esito=inviata', '/auth/conferma',
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
    t.match((await faults())[0], 'html-has-lang', 'a fault would be found')
  })
})
