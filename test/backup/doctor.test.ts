import { once } from 'node:events'
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { addDays } from '#src/lib/time.ts'
import { HEADER_BYTES } from '#src/backup/container.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { productionEnviron, refusalReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { user, type Ended } from '#test/cli/process.ts'
import { site } from '#test/cli/site.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { temporaryFolder } from '#test/helper.ts'
import { fakeProvider, json } from '#test/identity/external/fake-provider.ts'
import { startSmtp } from '#test/smtp.ts'
import { freePort } from '#test/free-port.ts'

interface Finding { esito: string, oggetto: string, testo: string }

const police = await standIn(t)
const smtp = await startSmtp(t)
const { url: DATABASE_URL } = await testDatabase(t)
const server = await site(t, { ...productionEnviron(police), DATABASE_URL })
const { act } = user(t)
const BACKUP_DIR = temporaryFolder(t)
await writeFile(join(BACKUP_DIR, `locanda-${addDays(testClock().today(), -1)}.bak`), Buffer.alloc(HEADER_BYTES))
const own = {
  ...productionEnviron(police),
  DATABASE_URL,
  DATA_DIR: server.dataDir,
  MASTER_KEY: server.masterKey,
  PUBLIC_URL: server.url,
  SMTP_URL: smtp.url,
  MAIL_FROM: 'locanda@example.org',
  BACKUP_DIR,
  BACKUP_PASSPHRASE: 'otto barche sul lago'
}
const doctor = async (more: Record<string, string> = {}) => {
  const ended = await act(['--json', 'doctor'], { env: { ...own, ...more } })
  return { ...ended, found: found(ended) }
}
const found = ({ stdout }: Ended) => {
  const { data } = JSON.parse(stdout) as { data: Finding[] }
  return Object.fromEntries(data.map(({ oggetto, esito, testo }) => [oggetto, `${esito}: ${testo}`]))
}

t.test('an installation that is well is ok on every line, and the exit is 0', async (t) => {
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
  t.match(plain.stdout, /^ok +database +PostgreSQL \d+/m, 'one line each')
})

t.test('what is not set, and what is late, is a remark, and the exit is 0', async (t) => {
  const { code, found } = await doctor({
    SMTP_URL: '', MAIL_FROM: '', BACKUP_DIR: '', PUBLIC_URL: `https://127.0.0.1:${await freePort()}`
  })
  t.equal(code, 0)
  for (const subject of ['posta', 'salvataggi', 'indirizzo', 'proxy']) t.match(found[subject], /^avviso: /, subject)
})

t.test('each part that does not work is a fault that says what to do, and the exit is 1', async (t) => {
  const closed = await freePort()
  const nonsense = await fakeProvider(t, json(405, {}))
  police.on.Authentication_Test = answer(refusalReply('Authentication_Test', 'CREDENZIALI'))
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
    ['chiave', { MASTER_KEY: Buffer.alloc(32, 9).toString('base64') }, /rimettere/],
    ['database', { DATABASE_URL: `postgres://nessuno@127.0.0.1:${closed}/x` }, /DATABASE_URL.*raggiungibile/],
    ['configurazione', { PORT: 'tremila' }, /PORT/],
    ['configurazione', { BACKUP_DIR: join(server.dataDir, 'files') }, /BACKUP_DIR: non può essere la cartella files/],
    ['configurazione', { MASTER_KEY: '', DATA_DIR: temporaryFolder(t) }, /master\.key/],
    ['configurazione', { MASTER_KEY: '', DATA_DIR: fileURLToPath(import.meta.url) }, /DATA_DIR: .* non è una cartella/]
  ]
  // One file first: the place is looked at.
  const place = { bucket: 'documents', name: 'a', contentType: 'text/plain', owner: null }
  await server.app.storage.write(Buffer.from('a'), place, 9)
  for (const [subject, more, expected] of cases) {
    const { code, found } = await doctor(more)
    t.equal(code, 1, subject)
    t.match(found[subject], /^errore: /, subject)
    t.match(found[subject], expected, subject)
    t.notMatch(JSON.stringify(found), /undefined|\[object/)
  }
  const elsewhere = await doctor({ DATA_DIR: temporaryFolder(t) })
  t.match(elsewhere.found.file, /^errore: .*non è il posto/)
})

t.test('a Redis that gives no answer is a fault, and its connections are closed', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket)).resume()
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const { code, found } = await doctor({ REDIS_URL: `redis://127.0.0.1:${port}` })
  t.equal(code, 1)
  t.match(found.redis, /^errore: REDIS_URL non va/)
  await until(() => sockets.size === 0)
})

t.test('the provider of IDP_URL is well when it gives its keys', async (t) => {
  const { url } = await fakeProvider(t, json(200, { keys: [] }))
  const { found } = await doctor({ IDP_URL: url, IDP_ANON_KEY: 'a', IDP_SERVICE_KEY: 'b' })
  t.match(found.accesso, /^ok: 127\.0\.0\.1:\d+ dà le sue chiavi$/)
})

t.test('a place for backups with less room than the last one took is a fault', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, `locanda-${testClock().today()}.bak`)
  // A file with a hole: no disk has so much.
  await writeFile(file, '')
  await truncate(file, 2 ** 43)
  const { found } = await doctor({ BACKUP_DIR: folder })
  t.match(found.salvataggi, /^errore: \d+ MiB liberi in BACKUP_DIR, l’ultimo salvataggio ne ha 8388608: fare posto$/)
})

t.test('backups that are kept in DATA_DIR are a remark: they are lost with it', async (t) => {
  const folder = join(server.dataDir, 'salvataggi')
  await mkdir(folder)
  const told = async () => (await doctor({ BACKUP_DIR: folder })).found.salvataggi
  t.match(await told(), /^avviso: .*nessun salvataggio.*; BACKUP_DIR è in DATA_DIR/)
  await writeFile(join(folder, `locanda-${testClock().today()}.bak`), Buffer.alloc(HEADER_BYTES))
  t.match(await told(), /^avviso: l’ultimo è di 0 ore fa; BACKUP_DIR è in DATA_DIR/)
})
