import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { freePort } from '#test/free-port.ts'

const WARNING = 'a server that the settings name cannot be reached'

function environ (smtp: number, issuer: number): Record<string, string> {
  const provider = { name: 'google', client_id: 'CANARY-id', client_secret: 'CANARY-secret' }
  return {
    SMTP_URL: `smtp://CANARY-user:CANARY-password@127.0.0.1:${smtp}`,
    MAIL_FROM: 'Locanda <noreply@example.org>',
    OAUTH_PROVIDERS: JSON.stringify([{ ...provider, issuer: `http://127.0.0.1:${issuer}/CANARY-path` }])
  }
}

/** A server that says nothing, and its first connection. */
async function silentServer (t: Test) {
  const server = createServer()
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, connected: once(server, 'connection') }
}

t.test('a mail server or an OAuth issuer that is not there is a warning each, and no more', async (t) => {
  const [smtp, issuer] = [await freePort(), await freePort()]
  const { app, logs } = await build(t, environ(smtp, issuer))
  await app.listen()
  const warnings = () => logs.filter(({ msg }) => msg === WARNING)
  while (warnings().length < 2) await turn()
  const place = { level: 40, host: '127.0.0.1', reason: 'ECONNREFUSED' }
  t.match(warnings(), [
    { ...place, setting: 'SMTP_URL', port: smtp },
    { ...place, setting: 'OAUTH_PROVIDERS', port: issuer }
  ])
  t.equal(warnings().length, 2)
  t.notMatch(JSON.stringify(logs), 'CANARY')
})

t.test('an engine of PDFs and a provider of texts that are not there are a warning each', async (t) => {
  const [engine, provider] = [await freePort(), await freePort()]
  const { app, logs } = await build(t, {
    PDF_ENGINE: 'gotenberg',
    PDF_ENGINE_URL: `http://127.0.0.1:${engine}/CANARY-path`,
    OCR_PROVIDER: 'ocr-space',
    OCR_PROVIDER_URL: `http://127.0.0.1:${provider}/CANARY-path`,
    OCR_PROVIDER_KEY: 'CANARY-key'
  })
  await app.listen()
  const warnings = () => logs.filter(({ msg }) => msg === WARNING)
  while (warnings().length < 2) await turn()
  const place = { level: 40, host: '127.0.0.1', reason: 'ECONNREFUSED' }
  t.match(warnings().sort((a, b) => String(a.setting) < String(b.setting) ? -1 : 1), [
    { ...place, setting: 'OCR_PROVIDER_URL', port: provider },
    { ...place, setting: 'PDF_ENGINE_URL', port: engine }
  ])
  t.notMatch(JSON.stringify(logs), 'CANARY')
})

t.test('one that is there is none', async (t) => {
  const [smtp, issuer] = [await silentServer(t), await silentServer(t)]
  const { app, logs } = await build(t, environ(smtp.port, issuer.port))
  await app.listen()
  await Promise.all([smtp.connected, issuer.connected])
  await app.close()
  t.same(logs.filter(({ msg }) => msg === WARNING), [])
})
