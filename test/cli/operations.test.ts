import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Job } from '#schemas/job.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { temporaryFolder, type TestApp, type Who } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

const server = await site(t)
const { app } = server

/** A user with a key of this person's, good for these scopes. */
async function signedIn (t: Test, who: Who = { name: 'capo', role: 'admin' }, scopes = 'amministrazione') {
  const terminal = user(t)
  const headers = { authorization: `Bearer ${await server.token(who)}` }
  const minted = await app.inject({ url: `/api/cli/auth/key?scopes=${scopes}`, headers })
  terminal.keep({ url: server.url, key: minted.json<{ apiKey: string }>().apiKey })
  return terminal
}

const isOn = async ({ call }: TestApp) => (await call('GET', '/api/v1/paesi')).statusCode === 503

t.test('without a name the jobs are listed', async (t) => {
  const { run, act } = await signedIn(t)
  const { code, stdout, stderr } = await run(['job'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^LAVORO +ULTIMO AVVIO +DURATA +ESITO +PROSSIMO AVVIO\n/)
  t.match(stdout, /^old-mails +— +— +— +\d{4}-\d\d-\d\d 03:43$/m)
  const { data } = JSON.parse((await act(['--json', 'job'])).stdout) as { data: Job[] }
  t.match(data.find(({ nome }) => nome === 'old-mails'), { cron: '43 3 * * *', in_corso: false })
})

t.test('a job is run, and its outcome and duration are told', async (t) => {
  const { run } = await signedIn(t)
  const { code, stdout, stderr } = await run(['job', 'old-mails'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^old-mails: riuscito in [\d,]+ m?s\n$/)
  t.match([...await app.sql`select object from audit_log where action = 'lavoro'`], [{ object: 'lavoro:old-mails' }])
})

t.test('a job that fails is an exit with 1, and it is said where the reason is', async (t) => {
  const { act } = await signedIn(t)
  await app.sql`alter table mails rename to mails_away`
  t.teardown(() => app.sql`alter table mails_away rename to mails`)
  const { code, stdout, stderr } = await act(['job', 'old-mails'])
  t.equal(code, 1)
  t.match(stdout, /^old-mails: fallito \(42P01\) in /)
  t.match(stderr, /nel log del server: la riga «job failed» con "job":"old-mails"/)
})

t.test('the end of a long job is waited for', async (t) => {
  const { act } = await signedIn(t)
  let ended: ReturnType<typeof act> | undefined
  await app.sql.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`
    await sql`lock table mails in access exclusive mode`
    // On this connection: on another the driver may put a query behind the job's, which waits for the lock.
    const running = () => sql`select from jobs where name = 'old-mails' and lease_until is not null`
    ended = act(['job', 'old-mails'])
    await until(async () => (await running()).length === 1)
    const [again] = await Promise.all([
      act(['--json', 'job', 'old-mails']),
      // Longer than the server waits with its answer, and not as long as a statement may take.
      until(async () => (await sql`
        select from jobs
        where name = 'old-mails' and started_at < clock_timestamp() - interval '11 seconds'`).length === 1)
    ])
    t.equal(again.code, 1)
    t.match(errorOf(again), { codice: 'LAVORO_IN_CORSO' })
  })
  const { code, stdout, stderr } = await ended!
  t.equal(code, 0, stderr)
  t.match(stdout, /^old-mails: riuscito in \d\d+(,\d)? s\n$/)
  t.match(stderr, /in corso/)
})

t.test('an unknown job, and a caller who is no administrator, are refused in the server\'s words', async (t) => {
  const admin = await signedIn(t)
  const unknown = await admin.act(['--json', 'job', 'assente'])
  t.equal(unknown.code, 1)
  t.match(errorOf(unknown), { codice: 'LAVORO_NON_TROVATO' })
  const operator = await signedIn(t, {})
  t.match(errorOf(await operator.act(['--json', 'job'])), { codice: 'NON_AUTORIZZATO' })
  const reader = await signedIn(t, { name: 'capo', role: 'admin' }, 'lettura')
  t.match(errorOf(await reader.act(['--json', 'job'])), { codice: 'AMBITO_INSUFFICIENTE' })
})

t.test('the service key of a server\'s folder and address is an administrator there, and nowhere else', async (t) => {
  const { url, dataDir } = server
  const { run } = user(t)
  const users = async (key: string) =>
    (await fetch(`${url}/auth/v1/admin/users`, { headers: { authorization: `Bearer ${key.trim()}` } })).status
  const own = await run(['service-key'], { env: { DATA_DIR: dataDir, PUBLIC_URL: url } })
  t.equal(own.code, 0, own.stderr)
  t.match(own.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, 'the key and nothing else')
  t.match(own.stderr, /^[^\n]+\n$/)
  t.notMatch(own.stderr, own.stdout.trim())
  t.equal(await users(own.stdout), 200)

  const other = await run(['service-key'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATA_DIR: temporaryFolder(t), PUBLIC_URL: url }
  })
  t.equal(other.code, 0)
  t.not(other.stdout, own.stdout)
  t.equal(await users(other.stdout), 403)
})

t.test('with --json it is one field', async (t) => {
  const { code, stdout, stderr } = await user(t).run(['service-key', '--json'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
  })
  t.equal(code, 0)
  t.equal(stderr, '')
  t.match(JSON.parse(stdout), { serviceKey: /^[\w-]+\.[\w-]+\.[\w-]+$/ })
})

t.test('without a server\'s folder there is no key, and none is made', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  for (const folder of [DATA_DIR, join(DATA_DIR, 'nessuna')]) {
    const { code, stdout, stderr } = await user(t).run(['service-key'], { env: { DATA_DIR: folder } })
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, /^Errore: [^\n]*DATA_DIR[^\n]*\n$/)
  }
  t.same(readdirSync(DATA_DIR), [])
})

t.test('an environment that the server would not start with is said in one line that names the variable', async (t) => {
  const ended = await user(t).run(['--json', 'service-key'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), PORT: 'tremila' }
  })
  t.equal(ended.code, 1)
  t.match(errorOf(ended), { codice: 'CONFIGURAZIONE', messaggio: /^PORT: / })
})

t.test('an administrator begins, changes, sees and ends a maintenance', async (t) => {
  const { run, act } = await signedIn(t, undefined, 'lettura,amministrazione')
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

t.test('a person who is locked out is told so, and ends the maintenance from the server\'s environment', async (t) => {
  const { run, act } = await signedIn(t, {})
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
