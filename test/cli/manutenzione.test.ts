import { randomBytes } from 'node:crypto'
import t from 'tap'
import { mintKey } from '#src/identity/keys/key-store.ts'
import type { Role } from '#src/identity/people/roles.ts'
import { signIn, temporaryFolder, type TestApp } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

const keyOf = async ({ app }: TestApp, role: Role) => {
  const person = await signIn(app, role, role)
  return (await mintKey(app.db, app.identity.apiKeys, person.user.id, {})).apiKey
}
const isOn = async ({ call }: TestApp) => (await call('GET', '/api/v1/paesi')).statusCode === 503

t.test('an administrator begins, changes, sees and ends a maintenance', async (t) => {
  const server = await site(t)
  const { run, act, keep } = user(t)
  keep({ url: server.url, key: await keyOf(server, 'admin') })
  t.same(await run(['manutenzione']), { code: 0, stdout: 'Il servizio non è in manutenzione.\n', stderr: '' })
  const on = await act(['manutenzione', 'on', '--messaggio', 'Alle 14', '--consenti', 'invii'])
  t.equal(on.code, 0, on.stderr)
  t.match(on.stdout, /in manutenzione +dal \d{4}-.+\nmessaggio +Alle 14\nconsentiti +invii\n$/)
  t.ok(await isOn(server))
  t.match(JSON.parse((await act(['--json', 'manutenzione', 'on'])).stdout), { enabled: true, message: null, allow: [] })
  t.match((await act(['manutenzione'])).stdout, /consentiti +—\n$/)
  t.match(JSON.parse((await act(['--json', 'manutenzione', 'off'])).stdout), { enabled: false, since: null })
  t.notOk(await isOn(server))
})

t.test('who is locked out is told so, and ends the maintenance from the server\'s environment', async (t) => {
  const server = await site(t)
  const { run, act, keep } = user(t)
  keep({ url: server.url, key: await keyOf(server, 'operator') })
  t.match(errorOf(await act(['--json', 'manutenzione', 'on'])), { codice: 'NON_AUTORIZZATO' })
  const service = await server.token({ service: true })
  await server.app.inject({
    method: 'POST',
    url: '/api/settings/maintenance',
    headers: { authorization: `Bearer ${service}` },
    payload: { enabled: true }
  })
  const refused = await act(['manutenzione', 'off'])
  t.equal(refused.code, 1)
  t.match(refused.stderr, /amministratore.*--server/)
  t.ok(await isOn(server))
  const env = { DATA_DIR: server.dataDir, PUBLIC_URL: server.url, PORT: new URL(server.url).port, HOST: '0.0.0.0' }
  const ended = await run(['manutenzione', 'off', '--server'], { env })
  t.same(ended, { code: 0, stdout: 'Il servizio non è in manutenzione.\n', stderr: '' })
  t.notOk(await isOn(server))
  t.equal((await run(['manutenzione', 'off', '--server'], { env })).code, 0, 'ending it twice is harmless')
  t.match(await server.app.sql`select actor from audit_log where action = 'manutenzione' order by id desc limit 1`, [
    { actor: 'service' }
  ])
})

t.test('an environment that is not the server\'s, or a server that does not run, is said plainly', async (t) => {
  const server = await site(t)
  const { act } = user(t)
  const { port } = new URL(server.url)
  const MASTER_KEY = randomBytes(32).toString('base64')
  const other = await act(['--json', 'manutenzione', 'off', '--server'], { env: { MASTER_KEY, PORT: port } })
  t.equal(other.code, 3)
  t.match(errorOf(other), { codice: 'AMBIENTE_DIVERSO', messaggio: /MASTER_KEY/ })
  await server.app.close()
  const gone = await act(['--json', 'manutenzione', 'off', '--server'], { env: { MASTER_KEY, PORT: port } })
  t.equal(gone.code, 4)
  t.match(errorOf(gone), { codice: 'SERVER_NON_RAGGIUNGIBILE', messaggio: /avviarlo/ })
  const nowhere = await act(['--json', 'manutenzione', 'off', '--server'], { env: { DATA_DIR: temporaryFolder(t) } })
  t.match(errorOf(nowhere), { codice: 'SERVER_NON_TROVATO' })
  t.equal((await act(['manutenzione', 'off', '--server', '--url', server.url])).code, 2)
  t.equal((await act(['manutenzione', 'on', '--consenti', 'tutto'])).code, 2)
  t.equal((await act(['manutenzione', 'forse'])).code, 2)
})
