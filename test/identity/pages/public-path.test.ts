import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { read } from '#test/identity/mail/mailbox.ts'
import { bearer } from '#test/identity/requests.ts'
import { codeOf } from '#test/identity/factors/authenticator.ts'
import { startSmtp } from '#test/smtp.ts'
import { visitorBrowser } from './visitor.ts'

const PATH = '/locanda'
const PUBLIC_URL = `https://host.example${PATH}`
const BOOKING = {
  nome_cognome: 'Maria Rossi', lingua: 'IT', paese_id: 380, check_in: '2026-12-01', numero_notti: 2, numero_ospiti: 1
}

/** What an answer names that leads out of the path of `PUBLIC_URL`. */
function outside ({ body, headers, cookies }: LightMyRequestResponse): string[] {
  const isInside = (address: string) => [PATH, PUBLIC_URL].some((each) => address.startsWith(`${each}/`))
  const isPage = String(headers['content-type']).startsWith('text/html')
  const inPage = isPage ? [...body.matchAll(/ (?:href|action|src|data-options)="([^"]*)"/g)].map(([, at]) => at!) : []
  const inHeaders = [headers.location ?? [], /<(.*)>/.exec(String(headers.link))?.[1] ?? []].flat()
  return [
    // An app for codes is no page.
    ...[...inPage, ...inHeaders].filter((each) => !isInside(each) && !each.startsWith('otpauth:')),
    ...cookies.filter(({ path = '/' }) => !`${path}/`.startsWith(`${PATH}/`)).map(({ name }) => `cookie ${name}`)
  ]
}

/** A proxy that takes the path off, and passes nothing on that comes without it. */
function behindProxy (t: Test, app: FastifyInstance): { asks: Pick<FastifyInstance, 'inject'>, seen: Set<string> } {
  const seen = new Set<string>()
  const inject = async (options: InjectOptions | string) => {
    const asked = typeof options === 'string' ? { url: options } : options
    const url = String(asked.url)
    if (!url.startsWith(`${PATH}/`)) throw new Error(`${url} leaves the path`)
    const answer = await app.inject({ ...asked, url: url.slice(PATH.length) })
    for (const each of outside(answer)) t.fail(`${url} leads to ${each}`)
    seen.add(url.slice(PATH.length).split('?', 1)[0]!)
    return answer
  }
  return { asks: { inject } as Pick<FastifyInstance, 'inject'>, seen }
}

t.test('where PUBLIC_URL has a path, everything that people meet stays below it', async (t) => {
  const smtp = await startSmtp(t)
  const providers = [{ name: 'google', issuer: 'http://127.0.0.1:9/', client_id: 'x', client_secret: 'y' }]
  const { app, token, call } = await build(t, {
    PUBLIC_URL, SMTP_URL: smtp.url, MAIL_FROM: 'posta@host.example', OAUTH_PROVIDERS: JSON.stringify(providers)
  })
  const service = bearer(await token({ service: true }))
  const { asks, seen } = behindProxy(t, app)
  const at = (path: string) => PATH + path

  t.test('an invitation is accepted, and its person looks after the account', async (t) => {
    const invitation = { method: 'POST', url: '/auth/v1/invite', headers: service } as const
    t.equal((await app.inject({ ...invitation, payload: { email: 'anna@example.org' } })).statusCode, 200)
    const { link } = read(await smtp.next())
    t.ok(link.startsWith(`${PUBLIC_URL}/auth/conferma?`))
    const browser = await visitorBrowser(asks).open(link.slice(new URL(link).origin.length))
    await browser.submit(at('/auth/conferma'))
    t.equal(browser.page().path, at('/auth/password'))
    await browser.submit(at('/auth/password'), { password: 'una-frase-del-tutto-nuova' })
    t.equal(browser.page().path, at('/auth/account?esito=password'))
    t.match(browser.page().body, `src="${at('/auth/moduli.js')}"`)
    await browser.submit(at('/auth/account/fattori/nuovo'))
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit(at('/auth/account/fattori/conferma'), { code: codeOf(secret) })
    t.match(browser.page().body, 'class="codes"')
    await browser.open(at('/auth/account/chiavi/nuova'))
    t.equal(browser.page().statusCode, 200)
    await browser.open(at('/auth/account'))
    await browser.submit(at('/auth/esci'))
    t.equal(browser.page().path, at('/auth/accedi?esito=uscita'))
    await browser.submit(at('/auth/accedi'), { email: 'anna@example.org', password: 'una-frase-del-tutto-nuova' })
    t.equal(browser.page().path, at('/auth/verifica'))
    await app.sql`update factors set last_step = null`
    await browser.submit(at('/auth/verifica'), { code: codeOf(secret) })
    t.equal(browser.page().path, at('/auth/account'))
  })

  t.test('strangers and the lost find the way', async (t) => {
    const browser = visitorBrowser(asks)
    for (const path of ['/', '/auth', '/auth/niente', '/auth/recupera', '/auth/conferma', '/auth/account/fattori/nuovo',
      '/auth/verifica', '/auth/accedi/con/google', '/errori', '/docs']) {
      await browser.open(at(path)).catch((err: Error) => t.equal(path, '/auth/accedi/con/google', err.message))
    }
    await browser.open(at('/auth'))
    t.equal(browser.page().path, at('/auth/accedi'))
    t.ok(seen.size > 15, [...seen].join(' '))
  })

  t.test('the pages for administrators and their cookies, too', async (t) => {
    const granted = await asks.inject({
      method: 'POST', url: at('/api/admin/grant-cookie'), headers: bearer(await token({ role: 'admin' }))
    })
    t.same(granted.cookies.map(({ path }) => path), ['/locanda/ad/', '/locanda/ad/'])
    const cookie = granted.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const page = await asks.inject({ url: at('/ad/'), headers: { cookie } })
    t.match(page.body, 'href="/locanda/docs"')
  })

  t.test('a program is told where a booking is and where the next page, also when it asks again', async (t) => {
    const book = async () => await call('POST', '/api/v1/prenotazioni', BOOKING, { 'idempotency-key': 'una' })
    const [first, second] = [await book(), await book()]
    t.match(first.headers.location, /^\/locanda\/api\/v1\/prenotazioni\/\d+$/)
    t.equal(second.headers.location, first.headers.location)
    t.match(second.headers, { 'idempotency-replayed': 'true' })
    await call('POST', '/api/v1/prenotazioni', BOOKING)
    const list = await call('GET', '/api/v1/prenotazioni?limit=1')
    t.match(list.headers.link, /^<\/locanda\/api\/v1\/prenotazioni\?limit=1&/)
  })
})

t.test('cookies for a path are for a secure connection alone, and the whole host gets none', async (t) => {
  const { app } = await build(t, { PUBLIC_URL })
  const { headers } = await app.inject('/auth/accedi')
  t.match(headers['set-cookie'], /^__Secure-locanda_form=1; Path=\/locanda; HttpOnly; Secure; SameSite=Strict$/)
})
