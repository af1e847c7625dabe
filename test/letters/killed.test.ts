import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { API_KEY, build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { LOAD_FAST } from '#test/setup/processes.ts'
import { LETTERS, lettering } from './lettering.ts'

const ENTRY = fileURLToPath(new URL('dying-process.ts', import.meta.url))
/** The steps between what a process can leave behind; within the transaction one is as good as another. */
const MAKING = ['after writing', 'after recording', 'after settling']
const REMOVING = ['after removing']
/** Processes that live, and die, at a time. */
const AT_A_TIME = 2

const server = await build(t)
const { app, call, url, dataDir, masterKey } = server
const { newBooking, generate, find, download } = lettering(server)

/** Whether another process on the same database and folder has killed itself at a step. */
async function dies (step: string, method: 'POST' | 'DELETE', path: string, body?: object): Promise<boolean> {
  const child = spawn(process.execPath, [LOAD_FAST, ENTRY], {
    stdio: 'ignore',
    env: {
      API_KEY,
      DATABASE_URL: url,
      DATA_DIR: dataDir,
      MASTER_KEY: masterKey,
      PORT: '0',
      LETTER_STEP: step,
      LETTER_METHOD: method,
      LETTER_URL: path,
      ...(body ? { LETTER_BODY: JSON.stringify(body) } : {})
    }
  })
  const [, signal] = await once(child, 'exit') as [unknown, string | null]
  return signal === 'SIGKILL'
}

async function forEach<T> (things: readonly T[], work: (thing: T) => Promise<void>): Promise<void> {
  const left = [...things]
  await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
    for (let thing = left.shift(); thing !== undefined; thing = left.shift()) await work(thing)
  }))
}

const body = (prenotazione_id: number) => ({ prenotazione_id, nome_ospite: 'Anna Bianchi', lingua: 'IT' })

/** Names of the files of the archive, without the one that says whose it is. */
const files = () => readdirSync(join(dataDir, 'files'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.length > 3)

t.test('a process that dies at any step of a letter leaves a letter with its file, or neither', async (t) => {
  const bookings = new Map<string, number>()
  for (const step of [...MAKING, ...REMOVING]) bookings.set(step, await newBooking())
  for (const step of REMOVING) t.equal((await generate(bookings.get(step)!)).statusCode, 201)

  await forEach(MAKING, async (step) => {
    t.ok(await dies(step, 'POST', `${LETTERS}/genera`, body(bookings.get(step)!)), `it dies ${step}`)
  })
  await forEach(REMOVING, async (step) => {
    t.ok(await dies(step, 'DELETE', `${LETTERS}/${bookings.get(step)!}`), `it dies ${step}`)
  })

  const { n } = (await app.sql<{ n: number }[]>`select count(*)::int as n from lettere_benvenuto`)[0]!
  t.equal(n, 2, 'one that was committed, one whose deletion was not')
  for (const [step, id] of bookings) {
    const { exists } = await find(id)
    t.equal(exists, step === 'after settling' || REMOVING.includes(step), step)
    t.equal((await download(id)).statusCode, exists ? 200 : 404, step)
  }

  // The key of a process that died half-way tells what it has made, and else stays taken.
  for (const step of MAKING) {
    const again = await call('POST', `${LETTERS}/genera`, body(bookings.get(step)!), { 'idempotency-key': step })
    t.equal(again.statusCode, step === 'after settling' ? 201 : 409, step)
  }
  for (const id of bookings.values()) await generate(id)
  for (const id of bookings.values()) t.equal((await download(id)).statusCode, 200, 'one letter each in the end')
  const rows = await app.sql`select o.id::text from objects o join generated_pdfs p on p.oggetto = o.name
    join lettere_benvenuto l on l.pdf = p.id where o.bucket = 'letters'`
  t.equal(rows.length, bookings.size)
})

t.test('files that no letter has are taken away when they are a day old', async (t) => {
  const old = new Date(Date.now() - 25 * 60 * 60_000)
  const folder = join(dataDir, 'files')
  const objects = await app.sql<{ id: string }[]>`select id::text from objects where bucket = 'letters'`
  t.ok(files().length > objects.length + 1, 'the processes have left some')
  for (const name of files()) utimesSync(join(folder, name), old, old)
  await runJob(server, 'stored-files')
  while ((await app.sql`select 1 from discarded_files`).length > 0) await sleep(20)
  const store = await app.sql<{ id: string }[]>`select id::text from file_store`
  const known = [...objects, ...store].map(({ id }) => id).sort()
  t.same(files().map((name) => name.slice(3)).sort(), known)
})
