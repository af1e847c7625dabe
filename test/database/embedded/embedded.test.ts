import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Finding } from '#src/backup/doctor/finding.ts'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { booking } from '#test/bookings/samples.ts'
import { user } from '#test/cli/process.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY, build, temporaryFolder } from '#test/helper.ts'
import { ADMIN, serverProcess } from '#test/server-process.ts'

/* An installation as `make start` makes it, with a PostgreSQL of its own, and the commands beside it. */

const BACKUP_PASSPHRASE = 'otto barche sul lago'
const { act } = user(t)
const PORT = String(await freePort())
const folder = temporaryFolder(t)
const own = { DATA_DIR: join(folder, 'data'), PORT }
const address = `http://127.0.0.1:${PORT}`

const clusterOf = (dataDir: string) => existsSync(join(dataDir, 'postgres', 'postmaster.pid'))

/** The server, ready; whatever a failed test leaves of it ends with the test. */
async function start (t: Test, env: typeof own) {
  const server = serverProcess(t, { ...ADMIN, API_KEY, ...env })
  t.teardown(async () => {
    server.signal('SIGKILL')
    await server.exit
    if (clusterOf(env.DATA_DIR)) await (await startEmbedded({ dataDir: env.DATA_DIR, log: () => {} })).stop()
  })
  await server.ready
  return {
    async end () {
      server.signal('SIGTERM')
      t.equal(await server.exit, 0, server.errors())
      t.notOk(clusterOf(env.DATA_DIR), 'and PostgreSQL with it')
    }
  }
}

async function doctor (env: Record<string, string> = own) {
  const { code, stdout } = await act(['--json', 'doctor'], { env })
  const { data } = JSON.parse(stdout) as { data: { esito: Finding['level'], oggetto: string, testo: string }[] }
  return { code, found: Object.fromEntries(data.map(({ esito, oggetto, testo }) => [oggetto, `${esito}: ${testo}`])) }
}

async function bookings (): Promise<string[]> {
  const answer = await fetch(`${address}/api/v1/prenotazioni`, { headers: { 'x-api-key': API_KEY } })
  return (await answer.json() as { data: { nome_cognome: string }[] }).data.map(({ nome_cognome: name }) => name)
}

const FRESH = {
  chiave: `ok: in ${join(own.DATA_DIR, 'master.key')}: conservarne una copia altrove`,
  database: /^ok: PostgreSQL 18\S*, schema aggiornato$/,
  orologio: /^ok: /,
  file: 'ok: cartella files di DATA_DIR: ancora nessun file',
  posta: /^avviso: SMTP_URL non è impostata/,
  polizia: /^avviso: sandbox: nulla arriva alla Polizia; .*ALLOGGIATI_MODE=production/,
  disco: /MiB liberi/,
  salvataggi: /^avviso: nessun salvataggio notturno: impostare BACKUP_DIR/,
  proxy: 'ok: nessuno'
}

t.test('the commands work beside a server with its own PostgreSQL, and where it is stopped', async (t) => {
  const server = await start(t, own)
  const made = await fetch(`${address}/api/v1/prenotazioni`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(booking({ nome_cognome: 'Ada Salvata' }))
  })
  t.equal(made.status, 201)

  const running = await doctor()
  t.equal(running.code, 0, 'what is not set is no fault')
  t.match(running.found, { ...FRESH, indirizzo: `ok: ${address} risponde; da altre macchine non si raggiunge` })
  t.equal(Object.keys(running.found).length, Object.keys(FRESH).length + 1)

  const file = join(folder, 'acceso.bak')
  const env = { ...own, BACKUP_PASSPHRASE }
  const saved = await act(['--json', 'backup', file], { env })
  t.equal(saved.code, 0, saved.stderr)
  t.match(JSON.parse(saved.stdout), { tabelle: { prenotazioni: 1 } })
  const inUse = await act(['restore', file], { env })
  t.equal(inUse.code, 1)
  t.match(inUse.stderr, /database non è vuoto/)
  t.same(await bookings(), ['Ada Salvata'], 'the server goes on')
  await server.end()

  const stopped = await doctor()
  t.equal(stopped.code, 0)
  t.match(stopped.found, {
    ...FRESH, indirizzo: `avviso: ${address} non risponde (ECONNREFUSED): il server è fermo, o ha un’altra PORT`
  })
  const again = await act(['--json', 'backup', join(folder, 'spento.bak')], { env })
  t.equal(again.code, 0, again.stderr)
  t.match(JSON.parse(again.stdout), { tabelle: { prenotazioni: 1 } })
  t.notOk(clusterOf(own.DATA_DIR), 'what a command has started ends with it')

  const next = { DATA_DIR: join(folder, 'next'), PORT }
  await mkdir(next.DATA_DIR, { mode: 0o700 })
  await copyFile(join(own.DATA_DIR, 'master.key'), join(next.DATA_DIR, 'master.key'))
  const restore = (more: Record<string, string> = {}, path = file) =>
    act(['restore', path], { env: { ...next, BACKUP_PASSPHRASE, ...more } })
  const cut = join(folder, 'tagliato.bak')
  await writeFile(cut, (await readFile(file)).subarray(0, -1))
  for (const [refused, reason] of [
    [await restore({ BACKUP_PASSPHRASE: 'non è questa' }), /passphrase/],
    [await restore({}, cut), /danneggiato/],
    [await restore({ MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }), /MASTER_KEY non è quella/]
  ] as const) {
    t.equal(refused.code, 1)
    t.match(refused.stderr, reason)
    t.same(await readdir(next.DATA_DIR), ['master.key'], 'no database is made for what is refused')
  }
  const strange = join(next.DATA_DIR, 'files', 'aa')
  await mkdir(strange, { recursive: true })
  await writeFile(join(strange, 'aa0d9b0c-2f0e-4c59-9a3c-0f4f0d2d7e11'), '')
  t.match((await restore()).stderr, /posto dei file .* non è vuoto/)
  await rm(strange, { recursive: true })
  const restored = await restore()
  t.equal(restored.code, 0, restored.stderr)
  t.notOk(clusterOf(next.DATA_DIR))
  // In this process: it starts in a fifth of the time that one of its own takes.
  const { app, call } = await build(t, { DATA_DIR: next.DATA_DIR, DATABASE_URL: '' })
  t.match((await call('GET', '/api/v1/prenotazioni')).json(), { data: [{ nome_cognome: 'Ada Salvata' }] })
  t.ok(clusterOf(next.DATA_DIR))
  await app.close()
  t.notOk(clusterOf(next.DATA_DIR), 'and PostgreSQL with it')
})

t.test('a key that cannot be read is not said to be missing', async (t) => {
  const none = await doctor({ ...own, DATA_DIR: join(folder, 'none') })
  t.equal(none.code, 1)
  t.match(none.found.configurazione, /^errore: MASTER_KEY manca, e non c’è .*none\/master\.key/)
  // Of a loop of links the key cannot be read by root either.
  const closed = temporaryFolder(t)
  await symlink('master.key', join(closed, 'master.key'))
  const unreadable = await doctor({ ...own, DATA_DIR: closed })
  t.equal(unreadable.code, 1)
  t.match(unreadable.found.configurazione, /master\.key non si può leggere \(ELOOP\): .*come l’utente del server/)
  t.notMatch(unreadable.found.configurazione, /manca/)
})
