import { rmSync } from 'node:fs'
import t from 'tap'
import type { Webhook } from '#schemas/webhook.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { startReceiver } from '#test/events/receiver.ts'
import { freePort } from '#test/free-port.ts'
import { temporaryFolder } from '#test/helper.ts'
import { errorOf } from '#test/identity/pages/visitor.ts'
import { deskBrowser, skip } from './desk-browser.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const DATA = '/impostazioni/dati'
const WEBHOOKS = '/impostazioni/webhook'

t.test('the page shows retention times and the state of the backups', async (t) => {
  const server = await buildDesk(t, { IMAGE_RETENTION_DAYS: '3', ERASE_AFTER_DAYS: '21' })
  const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })
  await admin.open('/impostazioni')
  t.match(admin.page().body, `href="${DATA}"`)
  await admin.open(DATA)
  t.match(admin.page().body, '3 giorni dopo la ricevuta della Polizia <code>IMAGE_RETENTION_DAYS')
  t.match(admin.page().body, '21 giorni dopo la fine dell’invio <code>ERASE_AFTER_DAYS')
  t.match(admin.page().body, /Nessuna copia di sicurezza.*BACKUP_DIR/s)

  const folder = temporaryFolder(t)
  const other = await buildDesk(t, { BACKUP_DIR: folder, BACKUP_PASSPHRASE: 'una frase segreta di prova' })
  const bice = await signedIn(other, 'bice@example.org', { role: 'admin' })
  await bice.open(DATA)
  t.match(bice.page().body, 'nessuna copia ancora')
  t.notMatch(bice.page().body, 'una frase segreta', 'the passphrase is on no page')
  await bice.submit(`${DATA}/copia`)
  t.match(bice.page().path, 'esito=avviata')
  await until(async () => (await bice.open(DATA)).page().body.includes('riuscito'))
  t.match(bice.page().body, /Ultima copia<\/th><td>\d\d\/\d\d\/\d{4}, \d\d:\d\d, [\d,]+ MiB/)
  t.match(bice.page().body, folder)
  rmSync(folder, { recursive: true })
  await bice.open(DATA)
  t.match(bice.page().body, 'la cartella non si legge')
})

t.test('a webhook is created, tested and deleted, and its secret is shown on request', async (t) => {
  const server = await buildDesk(t, { WEBHOOKS_TO_LOOPBACK: 'true' })
  const { call } = server
  const receiver = await startReceiver(t)
  const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })
  await admin.open(WEBHOOKS)
  t.match(admin.page().body, 'Nessun webhook')
  await admin.submit(`${WEBHOOKS}/nuovo`, { url: 'ftp://example.org' })
  t.equal(admin.page().statusCode, 400)
  t.ok(errorOf(admin.page().body, 'f-url'))
  await admin.submit(`${WEBHOOKS}/nuovo`, { url: receiver.url, descrizione: 'Gestionale' })
  t.match(admin.page().body, /<h1>Gestionale<\/h1>.*Nessuna consegna ancora/s)
  const page = admin.page().path.replace('?esito=creato', '')
  t.notMatch(admin.page().body, 'whsec_')
  await admin.submit(`${page}/segreto`)
  t.match(admin.page().body, /<code>whsec_[^<]+<\/code>/)
  const { data: actions } = (await server.app.inject({
    url: '/api/v1/audit', headers: { authorization: `Bearer ${await server.token({ role: 'admin' })}` }
  })).json<{ data: { action: string }[] }>()
  t.ok(actions.some(({ action }) => action === 'webhook_segreto'), 'the audit log records it')
  await admin.submit(`${page}/prova`)
  await receiver.await(1)
  await until(async () => (await admin.open(page)).page().body.includes('consegnata'))
  t.match(admin.page().body, /webhook\.prova<\/td><td><i class="chip ok">consegnata<\/i> 204/)
  await admin.submit(`${page}/elimina`)
  t.match(admin.page().body, /Eliminato\..*Nessun webhook/s)
  t.equal((await call('GET', '/api/v1/webhooks')).statusCode, 403)
})

t.test('an operator gets no page of the administrators, and changes nothing', async (t) => {
  const server = await buildDesk(t)
  const operator = await signedIn(server)
  const headers = { authorization: `Bearer ${await server.token({ role: 'admin' })}` }
  const { data: { id } } = (await server.app.inject({
    method: 'POST', url: '/api/v1/webhooks', headers, payload: { url: 'https://ricevitore.example/eventi' }
  })).json<{ data: Webhook }>()
  await operator.open('/impostazioni')
  t.match(operator.page().body, 'href="/auth/account#chiavi"')
  const forms = operator.page().body
  for (const page of [DATA, WEBHOOKS, `${WEBHOOKS}/${id}`]) {
    t.notMatch(forms, `href="${page}"`)
    await operator.open(page)
    t.match(operator.page(), { statusCode: 403, body: 'Solo un amministratore può aprire questa pagina.' })
  }
  const modulo = /name="modulo" value="([^"]*)"/.exec(forms)![1]!
  for (const action of [`${DATA}/copia`, `${WEBHOOKS}/nuovo`, ...['prova', 'segreto', 'elimina'].map((word) =>
    `${WEBHOOKS}/${id}/${word}`)]) {
    const { statusCode, body } = await server.app.inject({
      method: 'POST',
      url: action,
      headers: {
        accept: 'text/html', cookie: operator.cookie(), 'content-type': 'application/x-www-form-urlencoded'
      },
      payload: new URLSearchParams({ modulo, url: 'https://ricevitore.example/' }).toString()
    })
    t.equal(statusCode, 403, action)
    t.notMatch(body, 'whsec_')
  }
})

t.test('the pages of the administrators are accessible, and fit phones and desktops', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const receiver = await startReceiver(t)
  const folder = temporaryFolder(t)
  const server = await buildDesk(t, {
    PUBLIC_URL: url, WEBHOOKS_TO_LOOPBACK: 'true', BACKUP_DIR: folder, BACKUP_PASSPHRASE: 'una frase segreta di prova'
  })
  const { open, look, hit, shows, signIn, violations } = await deskBrowser(t, server, url, 'admin')
  const headers = { authorization: `Bearer ${await server.token({ role: 'admin' })}` }
  const { data: { id } } = (await server.app.inject({
    method: 'POST', url: '/api/v1/webhooks', headers, payload: { url: receiver.url, descrizione: 'Gestionale' }
  })).json<{ data: Webhook }>()
  await open(url + DATA)
  await signIn()
  await hit(`form[action="${DATA}/copia"] button`)
  await shows("document.querySelector('.notice') !== null")
  await look('dati')
  await look('webhook', WEBHOOKS)
  await open(`${url}${WEBHOOKS}/${id}`)
  await look('webhook-uno')
  await look('impostazioni-altro', '/impostazioni')
  t.same(violations(), [])
})
