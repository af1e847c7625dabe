import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Job } from '#schemas/job.ts'
import { foreigner, member, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, invio, productionEnviron, rowsReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { create, guests, saveGuests } from '#test/bookings/samples.ts'
import { API_KEY, temporaryFolder, type TestApp, type Who } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

const server = await site(t, { TODAY: today })
const { app, call, url } = server
const { run, act, keep } = user(t)
keep({ url, key: API_KEY })

const anna = await create(call, {
  nome_cognome: 'Anna Bianchi',
  check_in: '2026-11-21',
  numero_notti: 3,
  numero_ospiti: 2,
  idf_gen: 'BK-1'
})
const wang = await create(call, { nome_cognome: '王秀英', check_in: '2026-11-20', numero_notti: 10, numero_ospiti: 1 })
const carla = await create(call, {
  nome_cognome: `Carla ${'Lunga '.repeat(20).trim()}`,
  check_in: '2026-12-01',
  numero_notti: 1,
  numero_ospiti: 1,
  idf_gen: 'BK-3'
})
await saveGuests(call, anna.id, [
  ...guests(1, { sesso: 'F', data_nascita: '1985-04-12', tipo_documento: 'IDELE', numero_documento: 'CA12345AA' }),
  ...guests(1, { nome: 'Ugo', cognome: 'Provetti' })
])

const folder = temporaryFolder(t)
function file (content: object | string, name = 'schedine.json'): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const good = { ospiti: [{ ...single(), tipo_alloggiato: '17' }, member('19', 'JÜRGEN')], prenotazione: soggiorno }
const bad = { ospiti: [single(), foreigner({ provincia_nascita: 'RM' })], prenotazione: soggiorno }

let stored: { id: number }
let empty: { id: number }

t.test('the list is a table with aligned columns', async (t) => {
  const { code, stdout, stderr } = await run(['prenotazioni', 'list'])
  t.equal(code, 0, stderr)
  t.equal(stdout, [
    'ID  ARRIVO      PARTENZA    NOTTI  OSPITI  NOME                                      CODICE',
    ` ${anna.id}  2026-11-21  2026-11-24      3       2  Anna Bianchi                              BK-1`,
    ` ${wang.id}  2026-11-20  2026-11-30     10       1  王秀英`,
    ` ${carla.id}  2026-12-01  2026-12-02      1       1  Carla Lunga Lunga Lunga Lunga Lunga Lun…  BK-3`, ''
  ].join('\n'))
  t.equal(stderr, '')
})

t.test('the server applies the filters and the order', async (t) => {
  const found = async (...args: string[]) => {
    const { code, stdout, stderr } = await act(['--json', 'prenotazioni', 'list', ...args])
    t.equal(code, 0, stderr)
    return (JSON.parse(stdout) as { data: { id: number }[] }).data.map(({ id }) => id)
  }
  t.same(await found('--q', 'bianchi'), [anna.id])
  t.same(await found('--da', '2026-11-21'), [anna.id, carla.id])
  t.same(await found('--a', '2026-11-21'), [anna.id, wang.id])
  t.same(await found('--sort', 'check_in'), [wang.id, anna.id, carla.id])
  t.same(await found('--sort', '-check_in'), [carla.id, anna.id, wang.id])
  t.same(await found('--q', '&limit=1'), [])
})

t.test('a note on standard error says that a list is truncated', async (t) => {
  const { code, stdout, stderr } = await act(['prenotazioni', 'list', '--limit', '2'])
  t.equal(code, 0)
  t.equal(stdout.split('\n').length, 4, 'head, two rows, and the end of the last')
  t.match(stderr, /^Mostrate 2 prenotazioni su 3[^\n]*\n$/)
})

t.test('a booking is shown as a card and a table of its guests', async (t) => {
  const { code, stdout, stderr } = await run(['prenotazioni', 'show', String(anna.id)])
  t.equal(code, 0, stderr)
  t.match(
    stdout,
    /^Prenotazione {2}\d+\nNome {10}Anna Bianchi\nArrivo {8}2026-11-21\nPartenza {6}2026-11-24\nNotti {9}3\nOspiti {8}2\nPaese {9}Italia\nLingua {8}IT\nE-mail {8}—\n/
  )
  t.match(stdout, /\nCreata {8}\d{4}-\d\d-\d\d \d\d:\d\d\n/)
  t.match(
    stdout,
    /\n\nN\. {2}COGNOME {3}NOME {4}SESSO {2}NASCITA {5}DOCUMENTO\n 1 {2}Prova {5}Nome 0 {2}F {6}1985-04-12 {2}IDELE CA12345AA\n 2 {2}Provetti {2}Ugo\n$/
  )
})

t.test('after a refusal the tool exits with 1 and shows the server\'s message', async (t) => {
  const shown = await act(['prenotazioni', 'show', '999999'])
  t.same(shown, { code: 1, stdout: '', stderr: 'Errore: Prenotazione non trovata\n' })
  const json = await act(['--json', 'prenotazioni', 'show', '999999'])
  t.equal(json.code, 1)
  t.match(errorOf(json), {
    codice: 'PRENOTAZIONE_NON_TROVATA',
    messaggio: 'Prenotazione non trovata',
    uscita: 1,
    risposta: { status: 404, requestId: String }
  })
})

t.test('check reports whether the police service is reachable, and in which mode', async (t) => {
  // Created now, because the list of bookings was compared with its whole text before.
  stored = await create(call, { check_in: today, numero_notti: 3 })
  await saveGuests(call, stored.id, [{ ...single(), tipo_alloggiato: null }])
  empty = await create(call, { check_in: today })
  const { code, stdout, stderr } = await run(['alloggiati', 'check'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^Connessione ad Alloggiati Web riuscita \(sandbox: http:\/\/127\.0\.0\.1:\d+\/[^\n]*\)\n$/)
  t.match(JSON.parse((await run(['--json', 'alloggiati', 'check'])).stdout), {
    connected: true,
    endpoint: String,
    modalita: 'sandbox'
  })
})

t.test('valida reads a file or standard input, and warnings do not make it fail', async (t) => {
  for (const { code, stdout, stderr } of [
    await run(['alloggiati', 'valida', file(good)]),
    await run(['alloggiati', 'valida', file(`\ufeff${JSON.stringify(good)}`)]),
    await run(['alloggiati', 'valida', '-'], { input: JSON.stringify(good) })
  ]) {
    t.equal(code, 0, stderr)
    t.match(
      stdout,
      /^Le schedine sono valide\.\n\nAvvisi:\nOSPITE {2}CAMPO {2}MESSAGGIO\n {5}2 {2}nome {3}Il nome viene comunicato come «JURGEN»\n$/
    )
  }
})

t.test('valida exits with 5 when there are errors, and counts guests from 1', async (t) => {
  const { code, stdout, stderr } = await act(['alloggiati', 'valida', file(bad)])
  t.equal(code, 5)
  t.match(
    stdout,
    /^Le schedine contengono errori:\nOSPITE {2}CAMPO {14}MESSAGGIO\n {5}2 {2}provincia_nascita {2}[^\n]+\n$/
  )
  t.equal(stderr, '')
  const json = await act(['--json', 'alloggiati', 'valida', file(bad)])
  t.equal(json.code, 5)
  t.match(JSON.parse(json.stdout), { valid: false, errors: [{ ospite: 1, campo: 'provincia_nascita' }], warnings: [] })
  t.equal(json.stderr, '')
})

t.test('valida reads the stored guests of a booking', async (t) => {
  t.same(await act(['alloggiati', 'valida', '--prenotazione', String(stored.id)]), {
    code: 0,
    stdout: 'Le schedine sono valide.\n',
    stderr: ''
  })
  t.match(JSON.parse((await act(['alloggiati', 'valida', '--json', '--prenotazione', String(stored.id)])).stdout), {
    valid: true,
    soggiorno: { id: stored.id }
  })
  t.equal((await act(['alloggiati', 'valida', '--prenotazione', String(empty.id)])).code, 5)
  t.equal((await act(['alloggiati', 'valida', '--prenotazione', '999999'])).code, 1)
})

t.test('a test of valid records registers no guest and exits with 0, even if the file requests a Send', async (t) => {
  const says = '2 schedine valide: nessuna registrazione, era una prova.\n'
  t.same(await run(['alloggiati', 'invio', '--test', file(good)]), { code: 0, stdout: says, stderr: '' })
  t.same(await run(['alloggiati', 'invio', '-', '--test'], { input: JSON.stringify(good) }), {
    code: 0,
    stdout: says,
    stderr: ''
  })
  t.equal((await run(['alloggiati', 'invio', '--test', file({ ...good, testMode: false })])).stdout, says)
  t.match(JSON.parse((await run(['--json', 'alloggiati', 'invio', '--test', file(good)])).stdout), {
    success: true,
    ricevuta: '',
    dettagli: { metodo: 'Test' }
  })
})

t.test('a test of a booking\'s stored guests registers no guest', async (t) => {
  const { code, stdout, stderr } = await act(['alloggiati', 'invio', '--test', '--prenotazione', String(stored.id)])
  t.equal(code, 0, stderr)
  t.equal(stdout, '1 schedina valida: nessuna registrazione, era una prova.\n')
  t.equal((await act(['alloggiati', 'invio', '--test', '--prenotazione', String(empty.id)])).code, 5)
})

t.test(
  'when the police reject a test the tool exits with 5 and lists errors by guest, and without a reply with 1',
  async (t) => {
    const police = await standIn(t)
    police.on.Test = response(rowsReply('Test', [true, false]))
    const real = await site(t, productionEnviron(police))
    const { act, keep } = user(t)
    keep({ url: real.url, key: API_KEY })
    const schedine = file(invio([guestNo(1), guestNo(2)]))
    const { code, stdout, stderr } = await act(['alloggiati', 'invio', '--test', schedine])
    t.equal(code, 5, stderr)
    t.match(
      stdout,
      new RegExp('^Il servizio ha rifiutato una o più schedine: ospite 2: SCHEDINA_CAMPO_NON_CORRETTO: [^\\n]*\\.\\n' +
        'OSPITE {2}ESITO {6}MESSAGGIO\\n {5}1 {2}valida\\n {5}2 {2}rifiutata {2}SCHEDINA_CAMPO_NON_CORRETTO: ')
    )

    await police.stop()
    const unanswered = await act(['alloggiati', 'invio', '--test', schedine])
    t.match(unanswered, { code: 1, stdout: '', stderr: /^Errore: Servizio Alloggiati Web non raggiungibile[^\n]*\n$/ })
    t.same(police.callsOf('Send'), [])
  }
)

t.test(
  'an unusable file is reported in one line: exit code 1 if unreadable, 2 if not a JSON object',
  async (t) => {
    const cases: [path: string, code: number, says: string][] = [
      [join(folder, 'nessuno.json'), 1, 'nessuno.json'],
      [folder, 1, 'EISDIR'],
      [file('{"ospiti": CANARY', 'rotto.json'), 2, 'rotto.json'],
      [file('[]', 'lista.json'), 2, 'lista.json'],
      [file('', 'vuoto.json'), 2, 'vuoto.json']
    ]
    for (const [path, expected, says] of cases) {
      for (const command of [['valida'], ['invio', '--test']]) {
        const { code, stdout, stderr } = await act(['alloggiati', ...command, path])
        t.equal(code, expected, path)
        t.equal(stdout, '')
        t.match(stderr, /^Errore: [^\n]+\n$/)
        t.match(stderr, says)
        t.notMatch(stderr, 'CANARY')
      }
    }
  }
)

t.test('after all these tests no guest has been sent', async (t) => {
  t.same(await app.sql`select from invii`, [])
  t.same((await call('GET', '/api/alloggiati/sandbox/schedine')).json(), { data: [] })
})

/** A user with a key of a person, limited to these scopes. */
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

t.test('a job is run, and its outcome and duration are shown', async (t) => {
  const { run } = await signedIn(t)
  const { code, stdout, stderr } = await run(['job', 'old-mails'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^old-mails: riuscito in [\d,]+ m?s\n$/)
  t.match([...await app.sql`select object from audit_log where action = 'lavoro'`], [{ object: 'lavoro:old-mails' }])
})

t.test('after a failed job the tool exits with 1, and names the log line with the reason', async (t) => {
  const { act } = await signedIn(t)
  await app.sql`alter table mails rename to mails_away`
  t.teardown(() => app.sql`alter table mails_away rename to mails`)
  const { code, stdout, stderr } = await act(['job', 'old-mails'])
  t.equal(code, 1)
  t.match(stdout, /^old-mails: fallito \(42P01\) in /)
  t.match(stderr, /nel log del server: la riga «job failed» con "job":"old-mails"/)
})

t.test('the command waits for the end of a long job', async (t) => {
  const { act } = await signedIn(t)
  let ended: ReturnType<typeof act> | undefined
  await app.sql.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`
    await sql`lock table mails in access exclusive mode`
    // Use this connection. On another one the driver may queue a query after the job's, which waits for the lock.
    const running = () => sql`select from jobs where name = 'old-mails' and lease_until is not null`
    ended = act(['job', 'old-mails'])
    await until(async () => (await running()).length === 1)
    const [again] = await Promise.all([
      act(['--json', 'job', 'old-mails']),
      // Longer than the time limit of the server's response, and shorter than the statement timeout.
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

t.test('an unknown job, and a caller without administrator rights, get the server\'s message', async (t) => {
  const admin = await signedIn(t)
  const unknown = await admin.act(['--json', 'job', 'assente'])
  t.equal(unknown.code, 1)
  t.match(errorOf(unknown), { codice: 'LAVORO_NON_TROVATO' })
  const operator = await signedIn(t, {})
  t.match(errorOf(await operator.act(['--json', 'job'])), { codice: 'NON_AUTORIZZATO' })
  const reader = await signedIn(t, { name: 'capo', role: 'admin' }, 'lettura')
  t.match(errorOf(await reader.act(['--json', 'job'])), { codice: 'AMBITO_INSUFFICIENTE' })
})

t.test('the service key from a server\'s folder and URL has administrator rights only on that server', async (t) => {
  const { url, dataDir } = server
  const { run } = user(t)
  const users = async (key: string) =>
    (await fetch(`${url}/auth/v1/admin/users`, { headers: { authorization: `Bearer ${key.trim()}` } })).status
  const own = await run(['service-key'], { env: { DATA_DIR: dataDir, PUBLIC_URL: url } })
  t.equal(own.code, 0, own.stderr)
  t.match(own.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, 'only the key is printed')
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

t.test('without a server\'s folder no key is printed, and none is created', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  for (const folder of [DATA_DIR, join(DATA_DIR, 'nessuna')]) {
    const { code, stdout, stderr } = await user(t).run(['service-key'], { env: { DATA_DIR: folder } })
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, /^Errore: [^\n]*DATA_DIR[^\n]*\n$/)
  }
  t.same(readdirSync(DATA_DIR), [])
})

t.test('an environment that the server would reject is reported in one line that names the variable', async (t) => {
  const ended = await user(t).run(['--json', 'service-key'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), PORT: 'tremila' }
  })
  t.equal(ended.code, 1)
  t.match(errorOf(ended), { codice: 'CONFIGURAZIONE', messaggio: /^PORT: / })
})

t.test('an administrator begins, changes, shows and ends maintenance', async (t) => {
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

t.test('a locked-out person gets advice, and ends maintenance with the environment of the server', async (t) => {
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
  t.match(refused.stderr, /manutenzione/)
  t.ok(await isOn(server))
  const env = { DATA_DIR: server.dataDir, PUBLIC_URL: server.url, PORT: new URL(server.url).port, HOST: '0.0.0.0' }
  const ended = await run(['manutenzione', 'off', '--server'], { env })
  t.same(ended, { code: 0, stdout: 'Il servizio non è in manutenzione.\n', stderr: '' })
  t.notOk(await isOn(server))
  t.equal((await run(['manutenzione', 'off', '--server'], { env })).code, 0, 'maintenance can be ended twice')
  t.match(await server.app.sql`select actor from audit_log where action = 'manutenzione' order by id desc limit 1`, [
    { actor: 'service' }
  ])
})

t.test('an environment of another server, or a server that is not running, is reported in one line', async (t) => {
  const { act } = user(t)
  const { port } = new URL(server.url)
  const MASTER_KEY = randomBytes(32).toString('base64')
  const other = await act(['--json', 'manutenzione', 'off', '--server'], { env: { MASTER_KEY, PORT: port } })
  t.equal(other.code, 3)
  t.match(errorOf(other), { codice: 'AMBIENTE_DIVERSO', messaggio: /MASTER_KEY/ })
  await server.app.close()
  const gone = await act(['--json', 'manutenzione', 'off', '--server'], { env: { MASTER_KEY, PORT: port } })
  t.equal(gone.code, 4)
  t.match(errorOf(gone), { codice: 'SERVER_NON_RAGGIUNGIBILE', messaggio: new RegExp(port) })
  const nowhere = await act(['--json', 'manutenzione', 'off', '--server'], { env: { DATA_DIR: temporaryFolder(t) } })
  t.match(errorOf(nowhere), { codice: 'SERVER_NON_TROVATO' })
  t.equal((await act(['manutenzione', 'off', '--server', '--url', server.url])).code, 2)
  t.equal((await act(['manutenzione', 'on', '--consenti', 'tutto'])).code, 2)
  t.equal((await act(['manutenzione', 'forse'])).code, 2)
})
