import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { addDays } from '#src/lib/time.ts'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { productionEnviron, refusalReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { booking } from '#test/bookings/samples.ts'
import { user } from '#test/cli/process.ts'
import { site } from '#test/cli/site.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY, build, temporaryFolder } from '#test/helper.ts'
import { fakeProvider, json } from '#test/identity/external/fake-provider.ts'
import { listening, serve } from '#test/loopback.ts'
import { ADMIN, serverProcess } from '#test/server-process.ts'
import { startSmtp } from '#test/smtp.ts'

interface Finding { esito: string, oggetto: string, testo: string }

const police = await standIn(t)
const smtp = await startSmtp(t)
const { url: DATABASE_URL } = await testDatabase(t)
const server = await site(t, { ...productionEnviron(police), DATABASE_URL })
const { act } = user(t)
const BACKUP_DIR = temporaryFolder(t)
await writeFile(join(BACKUP_DIR, `locanda-${addDays(testClock().today(), -1)}.tar.age`), 'age')
const BACKUP_PASSPHRASE = 'otto barche sul lago'
const own = {
  ...productionEnviron(police),
  DATABASE_URL,
  DATA_DIR: server.dataDir,
  MASTER_KEY: server.masterKey,
  PUBLIC_URL: server.url,
  SMTP_URL: smtp.url,
  MAIL_FROM: 'locanda@example.org',
  BACKUP_DIR,
  BACKUP_PASSPHRASE
}
const examine = async (env: Record<string, string>) => {
  const ended = await act(['--json', 'doctor'], { env })
  const { data } = JSON.parse(ended.stdout) as { data: Finding[] }
  const found = Object.fromEntries(data.map(({ oggetto, esito, testo }) => [oggetto, `${esito}: ${testo}`]))
  return { ...ended, found }
}
const doctor = (more: Record<string, string> = {}) => examine({ ...own, ...more })

t.test('a healthy installation has no warning except about disk space, and exit status 0', async (t) => {
  const { code, stderr, found } = await doctor()
  t.equal(code, 0, stderr)
  t.same(Object.keys(found).toSorted(), [
    'chiave', 'database', 'disco', 'file', 'indirizzo', 'orologio', 'polizia', 'posta', 'proxy', 'salvataggi'
  ])
  const { disco, ...others } = found
  t.match(disco, /MiB liberi/)
  for (const [subject, text] of Object.entries(others)) t.match(text, /^ok: /, subject)
  t.same(police.callsOf('Send'), [], 'nothing is sent')
  t.same(smtp.mails, [])
  const plain = await act(['doctor'], { env: own })
  t.match(plain.stdout, /^ok +database +PostgreSQL \d+/m, 'one line per check')
})

t.test('missing settings, an unreachable PUBLIC_URL and a late backup are warnings, with exit status 0', async (t) => {
  const { code, found } = await doctor({
    SMTP_URL: '', MAIL_FROM: '', BACKUP_DIR: '', PUBLIC_URL: `https://127.0.0.1:${await freePort()}`
  })
  t.equal(code, 0)
  for (const subject of ['posta', 'salvataggi', 'indirizzo', 'proxy']) t.match(found[subject], /^avviso: /, subject)
  const folder = temporaryFolder(t)
  const last = join(folder, `locanda-${testClock().today()}.tar.age`)
  const threeDaysAgo = new Date(Date.now() - 3 * 24 * 3_600_000)
  await writeFile(last, 'age')
  await utimes(last, threeDaysAgo, threeDaysAgo)
  const late = await doctor({ BACKUP_DIR: folder })
  t.equal(late.code, 0)
  t.match(late.found.salvataggi, /^avviso: .*più di due giorni/)
})

t.test('each broken part is an error with advice, with exit status 1', async (t) => {
  const closed = await freePort()
  const nonsense = await fakeProvider(t, json(405, {}))
  police.on.Authentication_Test = response(refusalReply('Authentication_Test', 'CREDENZIALI'))
  const cases: [string, Record<string, string>, RegExp][] = [
    ['posta', { SMTP_URL: `smtp://127.0.0.1:${closed}` }, /SMTP_URL.*controllare/],
    ['redis', { REDIS_URL: `redis://127.0.0.1:${closed}` }, /REDIS_URL.*ECONNREFUSED/],
    ['file', {
      S3_ENDPOINT: `http://127.0.0.1:${closed}`, S3_BUCKET: 'prova', S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b'
    }, /S3.*controllare/],
    ['salvataggi', { BACKUP_DIR: join(BACKUP_DIR, 'nessuna') }, /BACKUP_DIR.*ENOENT/],
    ['polizia', {}, /controllare ALLOGGIATI_UTENTE/],
    ['polizia', { ALLOGGIATI_ENDPOINT: nonsense.url }, /controllare la rete e ALLOGGIATI_ENDPOINT/],
    ['accesso', { IDP_URL: nonsense.url, IDP_ANON_KEY: 'a', IDP_SERVICE_KEY: 'b' }, /IDP_URL.*controllare/],
    ['chiave', { MASTER_KEY: Buffer.alloc(32, 9).toString('base64') }, /usare il file/],
    ['database', { DATABASE_URL: `postgres://nessuno@127.0.0.1:${closed}/x` }, /DATABASE_URL.*raggiungibile/],
    ['configurazione', { PORT: 'tremila' }, /PORT/],
    ['configurazione', { BACKUP_DIR: join(server.dataDir, 'files') }, /BACKUP_DIR: non può essere la cartella files/],
    ['configurazione', { MASTER_KEY: '', DATA_DIR: temporaryFolder(t) }, /master\.key/],
    ['configurazione', { MASTER_KEY: '', DATA_DIR: fileURLToPath(import.meta.url) }, /DATA_DIR: .* non è una cartella/]
  ]
  // Only a file store that has stored a file can be recognized as another database's.
  const place = { bucket: 'documents', name: 'a', contentType: 'text/plain', owner: null }
  await server.app.files.write(Buffer.from('a'), place, 9)
  for (const [subject, more, expected] of cases) {
    const { code, found } = await doctor(more)
    t.equal(code, 1, subject)
    t.match(found[subject], /^errore: /, subject)
    t.match(found[subject], expected, subject)
    t.notMatch(JSON.stringify(found), /undefined|\[object/)
  }
  const elsewhere = await doctor({ DATA_DIR: temporaryFolder(t) })
  t.match(elsewhere.found.file, /^errore: .*è di un altro database/)
})

t.test('the police account of a further establishment is tested too', async (t) => {
  delete police.on.Authentication_Test
  const authorization = `Bearer ${await server.token({ role: 'admin' })}`
  const ask = async (method: 'POST' | 'PUT', path: string, payload: object) =>
    (await server.call(method, `/api/v1/strutture${path}`, payload, { authorization })).json<{ data: { id: number } }>()
  const { data: { id } } = await ask('POST', '', { nome: 'Casa del Porto' })
  await ask('PUT', `/${id}/polizia`, { utente: 'CO000002', password: 'parola-di-prova', wskey: 'chiave-di-prova' })
  const none = { ALLOGGIATI_UTENTE: '', ALLOGGIATI_PASSWORD: '', ALLOGGIATI_WSKEY: '' }
  t.match((await doctor(none)).found.polizia, /^ok: credenziali accettate da /)
  police.on.Authentication_Test = response(refusalReply('Authentication_Test', 'CREDENZIALI'))
  t.match((await doctor(none)).found.polizia, new RegExp(`^errore: .*l’account della struttura ${id}`))
})

const certificate = selfSigned(t.testdir(), 'IP:127.0.0.1')
const skip = certificate === undefined && 'openssl is not installed: no certificate to test with'

t.test('for every server, an untrusted certificate is reported as a failed TLS connection', { skip }, async (t) => {
  const { url } = await serve(t, undefined, certificate)
  const tlsSmtp = await startSmtp(t, { ...certificate, secure: true })
  const { code, found } = await doctor({
    PUBLIC_URL: url,
    SMTP_URL: tlsSmtp.url,
    REDIS_URL: url.replace('https', 'rediss'),
    ALLOGGIATI_ENDPOINT: url,
    IDP_URL: url,
    IDP_ANON_KEY: 'a',
    IDP_SERVICE_KEY: 'b',
    S3_ENDPOINT: url,
    S3_BUCKET: 'prova',
    S3_ACCESS_KEY_ID: 'a',
    S3_SECRET_ACCESS_KEY: 'b'
  })
  t.equal(code, 1)
  t.notOk(found.indirizzo, 'PUBLIC_URL is reported once')
  for (const subject of ['TLS', 'posta', 'redis', 'file', 'accesso']) {
    t.match(found[subject], /^errore: .*connessione TLS non riuscita \(\w*CERT\w*\): .*NODE_EXTRA_CA_CERTS/, subject)
  }
  t.match(found.polizia, /^errore: .*connessione sicura non riuscita \(\w*CERT\w*\)/)

  // PostgreSQL's response to a request for TLS.
  const port = await listening(t, createServer((socket) => {
    socket.once('data', () => {
      socket.write('S')
      new TLSSocket(socket, { isServer: true, ...certificate }).on('error', () => {})
    })
  }))
  const DATABASE_URL = `postgres://ada@127.0.0.1:${port}/x?sslmode=verify-full`
  t.match((await doctor({ DATABASE_URL })).found.database, /^errore: DATABASE_URL: .*TLS.* \(\w*CERT\w*\)/)
})

t.test('a Redis that does not respond is an error, and its connections are closed', async (t) => {
  const sockets = new Set<Socket>()
  const port = await listening(t, createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket)).resume()
  }))
  const { code, found } = await doctor({ REDIS_URL: `redis://127.0.0.1:${port}` })
  t.equal(code, 1)
  t.match(found.redis, /^errore: REDIS_URL: non riuscito/)
  await until(() => sockets.size === 0)
})

t.test('less free space in BACKUP_DIR than the size of the last backup is an error', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, `locanda-${testClock().today()}.tar.age`)
  // A sparse file of 8 TiB, which is assumed to exceed the free space.
  await writeFile(file, '')
  await truncate(file, 2 ** 43)
  const { found } = await doctor({ BACKUP_DIR: folder })
  t.match(found.salvataggi, /^errore: \d+ MiB liberi in BACKUP_DIR, l’ultimo salvataggio ne ha 8388608: fare posto$/)
})

t.test('a BACKUP_DIR inside DATA_DIR is a warning', async (t) => {
  const folder = join(server.dataDir, 'salvataggi')
  await mkdir(folder)
  const backupFinding = async () => (await doctor({ BACKUP_DIR: folder })).found.salvataggi
  t.match(await backupFinding(), /^avviso: .*nessun salvataggio.*; BACKUP_DIR è in DATA_DIR/)
  await writeFile(join(folder, `locanda-${testClock().today()}.tar.age`), 'age')
  t.match(await backupFinding(), /^avviso: l’ultimo è di 0 ore fa; BACKUP_DIR è in DATA_DIR/)
})

/* Commands for an installation with the embedded PostgreSQL, as `make start` creates it. */

const PORT = String(await freePort())
const folder = temporaryFolder(t)
const installed = { DATA_DIR: join(folder, 'data'), PORT }
const address = `http://127.0.0.1:${PORT}`

const isClusterRunning = (dataDir: string) => existsSync(join(dataDir, 'postgres', 'postmaster.pid'))

/** Starts the server and waits until it is ready. It is killed when the test ends. */
async function start (t: Test, env: typeof installed) {
  const server = serverProcess(t, { ...ADMIN, API_KEY, ...env })
  t.teardown(async () => {
    server.signal('SIGKILL')
    await server.exit
    if (isClusterRunning(env.DATA_DIR)) await (await startEmbedded({ dataDir: env.DATA_DIR, log: () => {} })).stop()
  })
  await server.ready
  return {
    async end () {
      server.signal('SIGTERM')
      t.equal(await server.exit, 0, server.errors())
      t.notOk(isClusterRunning(env.DATA_DIR), 'PostgreSQL stops with the server')
    }
  }
}

async function bookings (): Promise<string[]> {
  const response = await fetch(`${address}/api/v1/prenotazioni`, { headers: { 'x-api-key': API_KEY } })
  return (await response.json() as { data: { nome_cognome: string }[] }).data.map(({ nome_cognome: name }) => name)
}

const FRESH = {
  chiave: `ok: in ${join(installed.DATA_DIR, 'master.key')}: conservarne una copia altrove`,
  database: /^ok: PostgreSQL 18\S*, schema aggiornato$/,
  orologio: /^ok: /,
  file: 'ok: cartella files di DATA_DIR: ancora nessun file',
  posta: /^avviso: SMTP_URL non è impostata/,
  polizia: /^avviso: sandbox: nulla arriva alla Polizia; .*ALLOGGIATI_MODE=production/,
  disco: /MiB liberi/,
  salvataggi: /^avviso: nessun salvataggio notturno: impostare BACKUP_DIR/,
  proxy: 'ok: nessuno'
}

t.test('the commands work with the embedded PostgreSQL, with and without a running server', async (t) => {
  const server = await start(t, installed)
  const made = await fetch(`${address}/api/v1/prenotazioni`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(booking({ nome_cognome: 'Ada Salvata' }))
  })
  t.equal(made.status, 201)

  const running = await examine(installed)
  t.equal(running.code, 0, 'unset settings are no fault')
  t.match(running.found, { ...FRESH, indirizzo: `ok: ${address} risponde; da altre macchine non si raggiunge` })
  t.equal(Object.keys(running.found).length, Object.keys(FRESH).length + 1)

  const file = join(folder, 'acceso.tar.age')
  const env = { ...installed, BACKUP_PASSPHRASE }
  const saved = await act(['--json', 'backup', file], { env })
  t.equal(saved.code, 0, saved.stderr)
  t.match(JSON.parse(saved.stdout), { tabelle: { prenotazioni: 1 } })
  const inUse = await act(['restore', file], { env })
  t.equal(inUse.code, 1)
  t.match(inUse.stderr, /database non è vuoto/)
  t.same(await bookings(), ['Ada Salvata'], 'the server keeps running')
  await server.end()

  const stopped = await examine(installed)
  t.equal(stopped.code, 0)
  t.match(stopped.found, {
    ...FRESH, indirizzo: `avviso: ${address} non risponde (ECONNREFUSED): il server è fermo, o ha un’altra PORT`
  })
  const again = await act(['--json', 'backup', join(folder, 'spento.tar.age')], { env })
  t.equal(again.code, 0, again.stderr)
  t.match(JSON.parse(again.stdout), { tabelle: { prenotazioni: 1 } })
  t.notOk(isClusterRunning(installed.DATA_DIR), 'a command stops what it has started')

  const next = { DATA_DIR: join(folder, 'next'), PORT }
  await mkdir(next.DATA_DIR, { mode: 0o700 })
  await copyFile(join(installed.DATA_DIR, 'master.key'), join(next.DATA_DIR, 'master.key'))
  const restore = (more: Record<string, string> = {}) =>
    act(['restore', file], { env: { ...next, BACKUP_PASSPHRASE, ...more } })
  t.match(await restore({ BACKUP_PASSPHRASE: 'non è questa' }), { code: 1, stderr: /passphrase/ })
  t.same(await readdir(next.DATA_DIR), ['master.key'], 'a refused command creates no database')
  const restored = await restore()
  t.equal(restored.code, 0, restored.stderr)
  t.notOk(isClusterRunning(next.DATA_DIR))
  // In this process, which takes a fifth of the time that a child process would take.
  const { app, call } = await build(t, { DATA_DIR: next.DATA_DIR, DATABASE_URL: '' })
  t.match((await call('GET', '/api/v1/prenotazioni')).json(), { data: [{ nome_cognome: 'Ada Salvata' }] })
  t.ok(isClusterRunning(next.DATA_DIR))
  await app.close()
  t.notOk(isClusterRunning(next.DATA_DIR), 'PostgreSQL stops with the server')
})

t.test('an unreadable key is reported as unreadable, not as missing', async (t) => {
  const none = await examine({ ...installed, DATA_DIR: join(folder, 'none') })
  t.equal(none.code, 1)
  t.match(none.found.configurazione, /^errore: MASTER_KEY manca, e non c’è .*none\/master\.key/)
  // A loop of symbolic links, which even root cannot read as a key.
  const closed = temporaryFolder(t)
  await symlink('master.key', join(closed, 'master.key'))
  const unreadable = await examine({ ...installed, DATA_DIR: closed })
  t.equal(unreadable.code, 1)
  t.match(unreadable.found.configurazione, /master\.key non si può leggere \(ELOOP\): .*come l’utente del server/)
  t.notMatch(unreadable.found.configurazione, /manca/)
})
