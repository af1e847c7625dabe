import t from 'tap'
import type { AuthUser } from '#schemas/auth/user.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { errorOf, visitorBrowser } from '#test/identity/pages/visitor.ts'
import { startSmtp } from '#test/smtp.ts'
import type { TestApp } from '#test/helper.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const PAGE = '/impostazioni/utenti'
const server = await buildDesk(t)
const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })

async function users ({ app, token }: TestApp): Promise<AuthUser[]> {
  const headers = { authorization: `Bearer ${await token({ service: true })}` }
  return (await app.inject({ url: '/auth/v1/admin/users', headers })).json<{ users: AuthUser[] }>().users
}

async function find (from: TestApp, email: string): Promise<AuthUser> {
  return (await users(from)).find((each) => each.email === email)!
}

/** The row of a person, as text with its links. */
function rowOf (body: string, email: string): string {
  return body.split('<li').find((each) => each.includes(email)) ?? ''
}

t.test('only an administrator sees the people', async (t) => {
  const operator = await signedIn(server)
  await operator.open('/impostazioni')
  t.notMatch(operator.page().body, PAGE)
  const { id } = await find(server, 'ada@example.org')
  for (const path of [PAGE, `${PAGE}/${id}`]) {
    await operator.open(path)
    t.match(operator.page(), { statusCode: 403, body: 'Solo un amministratore' }, path)
    t.notMatch(operator.page().body, 'ada@example.org')
  }
  await admin.open('/impostazioni')
  t.match(admin.page().body, `href="${PAGE}">Persone`)
  await admin.open(PAGE)
  t.match(rowOf(admin.page().body, 'anna@example.org'), /Operatore.*Ultimo accesso: \d\d/s)
  t.match(rowOf(admin.page().body, 'ada@example.org'), /Amministratore.*questo account/s)
})

t.test('without a mail server the page shows the link of an invitation once', async (t) => {
  await admin.open(PAGE)
  t.match(admin.page().body, 'SMTP_URL manca')
  await admin.submit(PAGE, { email: 'nessuno' })
  t.equal(admin.page().statusCode, 400)
  t.match(errorOf(admin.page().body, 'f-email'), 'Non è un indirizzo e-mail')
  await admin.submit(PAGE, { email: 'anna@example.org' })
  t.match(errorOf(admin.page().body, 'f-email'), 'ha già un account')
  await admin.submit(PAGE, { email: 'piero@example.org', ruolo: 'admin' })
  const [, link = ''] = /<code>([^<]+)<\/code>/.exec(admin.page().body) ?? []
  t.match(admin.page().body, 'Consegnare questo collegamento a piero@example.org')
  const { id, app_metadata: rights } = await find(server, 'piero@example.org')
  t.match(rights, { role: 'admin' })
  await admin.open(PAGE)
  t.match(rowOf(admin.page().body, 'piero@example.org'), /Nessun accesso ancora.*invito in attesa/s)
  t.notMatch(admin.page().body, /token=/)

  await admin.open(`${PAGE}/${id}`)
  await admin.submit(`${PAGE}/${id}/invito`)
  const [, second = ''] = /<code>([^<]+)<\/code>/.exec(admin.page().body) ?? []
  t.not(second, link)
  const piero = visitorBrowser(server.app)
  const follow = async (url: string) => {
    const { pathname, search } = new URL(url.replaceAll('&amp;', '&'))
    await piero.open(pathname + search)
    await piero.submit('/auth/conferma')
  }
  await follow(link)
  t.equal(piero.page().statusCode, 400, 'the earlier link is void')
  await follow(second)
  await piero.submit('/auth/password', { password: PASSWORD })
  await piero.open(PAGE)
  t.equal(piero.page().statusCode, 200, 'the role of the invitation has effect')
})

t.test('an administrator changes the role of a person, and suspends, readmits and deletes people', async (t) => {
  const { id } = await createPerson(server, 'rita@example.org')
  const page = `${PAGE}/${id}`
  await admin.open(page)
  await admin.submit(page, { ruolo: 'admin' })
  t.match(admin.page(), { path: `${page}?esito=salvato`, body: 'Salvato.' })
  t.match((await find(server, 'rita@example.org')).app_metadata, { role: 'admin' })
  await admin.submit(page, { ruolo: 'operator' })
  t.match((await find(server, 'rita@example.org')).app_metadata, { role: 'operator' })
  await admin.submit(`${page}/sospendi`)
  t.match(admin.page().body, 'accesso sospeso')
  const rita = visitorBrowser(server.app)
  await rita.open('/oggi')
  await rita.submit('/auth/accedi', { email: 'rita@example.org', password: PASSWORD })
  t.equal(rita.page().statusCode, 400)
  await admin.submit(`${page}/riammetti`)
  t.notMatch(admin.page().body, 'accesso sospeso')
  await rita.submit('/auth/accedi', { password: PASSWORD })
  t.match(rita.page(), { path: '/oggi', statusCode: 200 })
  await admin.submit(`${page}/elimina`)
  t.match(admin.page(), { path: `${PAGE}?esito=eliminato`, body: 'Eliminato.' })
  t.equal(await find(server, 'rita@example.org'), undefined)
  await admin.open(page)
  t.match(admin.page(), { statusCode: 404, body: 'non corrisponde a nessuna pagina' })
  const { body } = await server.app.inject({
    url: '/api/v1/audit?limit=100', headers: { authorization: `Bearer ${await server.token({ role: 'admin' })}` }
  })
  for (const action of ['utente_modificato', 'utente_eliminato', 'invito']) t.match(body, action)
})

t.test('an administrator\'s own account has no forms, and a form sent for it has no effect', async (t) => {
  const { id } = await find(server, 'ada@example.org')
  const page = `${PAGE}/${id}`
  await admin.open(page)
  t.match(admin.page().body, 'un altro amministratore')
  t.notMatch(admin.page().body, `action="${page}`)
  const { id: other } = await find(server, 'anna@example.org')
  await admin.open(`${PAGE}/${other}`)
  const modulo = /name="modulo" value="([^"]*)"/.exec(admin.page().body)![1]!
  for (const path of ['', '/sospendi', '/elimina']) {
    const payload = new URLSearchParams({ modulo, ruolo: 'operator' }).toString()
    await server.app.inject({
      method: 'POST',
      url: page + path,
      headers: { cookie: admin.cookie(), 'content-type': 'application/x-www-form-urlencoded' },
      payload
    })
  }
  t.match(await find(server, 'ada@example.org'), { app_metadata: { role: 'admin' }, banned_until: undefined })
})

t.test('with a mail server the person gets the invitation by mail', async (t) => {
  const smtp = await startSmtp(t)
  const other = await buildDesk(t, { SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example' })
  const browser = await signedIn(other, 'ada@example.org', { role: 'admin' })
  await browser.open(PAGE)
  await browser.submit(PAGE, { email: 'piero@example.org' })
  t.match(browser.page(), { path: `${PAGE}?esito=inviato`, body: 'Inviato.' })
  t.notMatch(browser.page().body, 'token=')
  const mail = await smtp.next()
  t.same(mail.envelope.to, ['piero@example.org'])
  t.match(mail.text, '/auth/conferma?token=')
  t.match((await find(other, 'piero@example.org')).app_metadata, { role: 'operator' })
})
