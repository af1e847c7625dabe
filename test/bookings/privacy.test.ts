import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import type { Static } from '@sinclair/typebox'
import t from 'tap'
import type { ErasureResponse } from '#schemas/privacy.ts'
import { archive } from '#src/bookings/privacy/routes.ts'
import { today } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, create, guests, saveGuests } from '#test/bookings/samples.ts'
import {
  booked, fetchReceipt, guest, held, openSubmission, RECEIPT_DAY, retentionServer, send
} from '#test/documents/retention-steps.ts'
import { API_KEY, type TestApp } from '#test/helper.ts'
import { listen } from '#test/raw.ts'
import { unzip } from './unzip.ts'

const exportOf = (id: number) => `${BOOKINGS}/${id}/export`
const erase = ({ call }: Pick<TestApp, 'call'>, id: number) => call('POST', `${BOOKINGS}/${id}/cancellazione`)

const textOf = (files: Map<string, Buffer>, name: string) => JSON.parse(String(files.get(name)))

const { first, on } = await retentionServer(t)

/** Each booking has two guests with images, who were sent and are on a receipt. */
const covered = new Map<string, number>()
for (const names of ['UNO DUE', 'TRE QUATTRO', 'CINQUE SEI']) {
  const id = await booked(first, names.split(' ').map(guest))
  await send(first, id)
  covered.set(names, id)
}
/** From here on it is the day after the arrival. */
const server = on(RECEIPT_DAY)
await fetchReceipt(server)

/** The number of audit entries about an export or erasure of personal data. */
const noted = async () => (await first.app.sql`select from audit_log where action like 'dati_%'`).length

/** Changes the submissions of a booking. The triggers are disabled. */
async function submissions (id: number, change: Record<string, unknown>): Promise<void> {
  await first.app.sql.begin(async (sql) => {
    await sql`alter table invii disable trigger user`
    await sql`update invii set ${sql(change)} where prenotazione_id = ${id}`
    await sql`alter table invii enable trigger user`
  })
}

t.test('the report lists a booking\'s data with retention and reason, and marks data required by law', async (t) => {
  const id = covered.get('UNO DUE')!
  const all = await held(server, id)
  const found = all.map(({ cosa, quanti, stato, per_legge: isLegal }) => `${cosa} ${quanti} ${stato} ${isLegal}`)
  t.same(found.slice(0, 4), [
    'prenotazione 1 finche_esiste_la_prenotazione false', 'ospiti 2 finche_esiste_la_prenotazione false',
    'schedine_cifrate 2 prova_di_legge true', 'storia_invio 2 prova_di_legge true'
  ])
  t.same(found.slice(-4), Array(4).fill('immagine_documento 1 in_scadenza false'))
  t.match(all.find(({ cosa }) => cosa === 'schedine_cifrate'), { riferimento: /^AW-/, fino_a: null })
  t.match(all.find(({ riferimento }) => riferimento === today), { cosa: 'ricevuta_polizia', fino_a: '2031-11-21' })
  t.match(all.at(-1), { ospite: 1, lato: 'front', fino_a: '2026-11-29', motivo: /ricevuta/ })
  // The day on which the job erases the records.
  await submissions(id, { stato: 'ricevuto', aggiornato_il: '2026-11-22T09:00:00Z' })
  t.match((await held(server, id)).find(({ cosa }) => cosa === 'schedine_cifrate'), { fino_a: '2026-12-22' })
})

t.test('a booking without data has no report and no export, and its erasure deletes nothing', async (t) => {
  const before = await noted()
  for (const path of ['privacy', 'export']) {
    const response = await first.call('GET', `${BOOKINGS}/4711/${path}`)
    t.match(response.json(), { status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  }
  t.match((await erase(first, 4711)).json(), { status: 200, eliminati: [], conservati: [] })
  t.equal(await noted(), before)
})

t.test('the export is an archive of booking, guests, submissions and images, and is audited', async (t) => {
  const id = covered.get('TRE QUATTRO')!
  const before = await noted()
  const response = await server.call('GET', exportOf(id))
  t.equal(response.statusCode, 200)
  t.match(response.headers, {
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename=prenotazione_${id}.zip`,
    'cache-control': 'no-store'
  })
  const files = await unzip(response.rawPayload)
  t.same([...files.keys()], [
    'privacy.json', 'prenotazione.json', 'ospiti.json', 'invii.json',
    'documenti/0/back.jpg', 'documenti/0/front.jpg', 'documenti/1/back.jpg', 'documenti/1/front.jpg'
  ])
  const detail = (await server.call('GET', `${BOOKINGS}/${id}`)).json().data
  const { ospiti, ...booking } = detail
  t.same(textOf(files, 'prenotazione.json'), booking)
  t.same(textOf(files, 'ospiti.json'), ospiti)
  t.same(textOf(files, 'privacy.json').conservati, await held(server, id))
  t.match(textOf(files, 'invii.json'), [{
    ricevuta: /^AW-/,
    data_arrivo: today,
    schedine: [
      { esito: 'acquisita', schedina: { cognome: 'PROVETTI', nome: 'TRE' } },
      { esito: 'acquisita', schedina: { cognome: 'PROVETTI', nome: 'QUATTRO' } }
    ]
  }])
  const shown = await server.call('GET', `/api/documents/${id}/1/back`)
  t.ok(files.get('documenti/1/back.jpg')!.equals(shown.rawPayload))
  const entries = await server.app.sql`
    select actor, object, details from audit_log where action = 'dati_esportati' and object = ${`prenotazione:${id}`}`
  t.equal(await noted(), before + 1)
  t.match([...entries], [{ actor: 'server', object: `prenotazione:${id}`, details: { file: 8 } }])
  t.equal((await server.call('HEAD', exportOf(id))).statusCode, 405, 'a HEAD does not export')
})

t.test('an export that the audit log cannot record is refused', async (t) => {
  const { call, app } = first
  const { id } = await create(call)
  t.teardown(() => app.sql`alter table audit_log drop constraint refused`)
  await app.sql`alter table audit_log add constraint refused check (action <> 'dati_esportati') not valid`
  const response = await call('GET', exportOf(id))
  t.match(response.json(), { status: 503, codice: 'REGISTRO_NON_DISPONIBILE' })
  t.equal(response.headers['content-disposition'], undefined)
})

t.test('a damaged or truncated image aborts the export, so no client accepts the archive as complete', async (t) => {
  const id = await booked(first, [guest('SETTE')])
  const port = await listen(first.app)
  const load = async () => {
    const response = await fetch(`http://127.0.0.1:${port}${exportOf(id)}`, { headers: { 'x-api-key': API_KEY } })
    return await response.bytes()
  }
  t.equal((await unzip(Buffer.from(await load()))).size, 6)
  const [{ id: object } = {}] = await first.app.sql<{ id: string }[]>`
    select id from objects where name = ${`${id}/0/front.jpg`}`
  const folder = join(first.dataDir, 'files', object!.slice(0, 2))
  const file = join(folder, readdirSync(folder).find((name) => name.startsWith(object!))!)
  const good = readFileSync(file)
  const bad = Buffer.from(good)
  bad[good.length - 20]! ^= 1
  writeFileSync(file, bad)
  await t.rejects(load())
  writeFileSync(file, good.subarray(0, -1))
  await t.rejects(load())
  writeFileSync(file, good)
  t.equal((await unzip(Buffer.from(await load()))).size, 6, 'the server keeps running')
})

t.test('an erasure deletes booking, guests and images, keeps data required by law, and reports both', async (t) => {
  const id = covered.get('CINQUE SEI')!
  const before = await held(server, id)
  const response = await erase(server, id)
  t.equal(response.statusCode, 200)
  const { message, eliminati, conservati } = response.json<Static<typeof ErasureResponse>>()
  t.equal(message, `Prenotazione ${id} cancellata`)
  t.same(eliminati, before.filter(({ per_legge: isLegal }) => !isLegal))
  t.same(conservati, before.filter(({ per_legge: isLegal }) => isLegal))
  t.equal((await server.call('GET', `${BOOKINGS}/${id}`)).statusCode, 404)
  t.equal((await server.call('GET', `/api/documents/${id}/0/front`)).statusCode, 404)
  t.same([...await server.app.sql`select * from ospiti where prenotazione_id = ${id}`], [])
  t.same(await server.app.files.findByPrefix(server.app.db, 'documents', `${id}/`), [])
  const entries = await server.app.sql`
    select actor, object, details from audit_log
    where action in ('dati_cancellati', 'prenotazioni_eliminate') and object = ${`prenotazione:${id}`}`
  t.same([...entries], [{ actor: 'server', object: `prenotazione:${id}`, details: {} }])

  t.same(await held(server, id), conservati, 'a later report lists the same remaining data')
  const files = await unzip((await server.call('GET', exportOf(id))).rawPayload)
  t.same([...files.keys()], ['privacy.json', 'invii.json'])
  t.match(textOf(files, 'privacy.json'), { esiste: false })

  const again = (await erase(server, id)).json<Static<typeof ErasureResponse>>()
  t.same(again, { message: 'Non c’è più niente da cancellare', eliminati: [], conservati, status: 200 })
  t.equal((await server.app.sql`
    select from audit_log where action = 'dati_cancellati' and object = ${`prenotazione:${id}`}`).length, 1)
})

t.test('a booking is not erased while a submission is open or unknown, and keeps all its data', async (t) => {
  const id = await booked(first, [guest('OTTO')])
  await openSubmission(first, id, 'sconosciuto')
  t.match((await erase(first, id)).json(), { status: 409, codice: 'INVIO_IN_CORSO' })
  t.equal((await first.call('GET', `/api/documents/${id}/0/front`)).statusCode, 200)
  t.equal((await held(first, id)).filter(({ cosa }) => cosa === 'immagine_documento').length, 2)
})

t.test('the report says whether records were sent to the police, will be sent, or never were', async (t) => {
  const id = await booked(first, [guest('NOVE')])
  await send(first, id)
  for (const [stato, records, history] of [
    ['acquisito', /^Dati trasmessi/, /^Prova della comunicazione/],
    ['pronto', /^Dati da trasmettere/, /^Prova della comunicazione/],
    ['non_inviato', /non è partito/, /non è partito o è stato annullato/],
    ['annullato', /annullato, cifrati/, /non è partito o è stato annullato/]
  ] as const) {
    await submissions(id, { stato })
    const report = await held(first, id)
    t.match(report.find(({ cosa }) => cosa === 'schedine_cifrate')?.motivo, records, stato)
    t.match(report.find(({ cosa }) => cosa === 'storia_invio')?.motivo, history, stato)
  }
})

t.test('the stored responses of an Idempotency-Key are deleted with their booking, and no others', async (t) => {
  const { call, app } = first
  const make = (key: string) => call('POST', BOOKINGS, {
    nome_cognome: `Chiave ${key}`, lingua: 'IT', paese_id: 380, check_in: today, numero_notti: 2, numero_ospiti: 1
  }, { 'idempotency-key': key })
  const gone = (await make('una')).json().data.id
  const kept = await make('altra')
  await saveGuests(call, gone, guests(1), { 'idempotency-key': 'ospiti' })
  const day = { prenotazioni: [{ prenotazione_id: 1e6 }, { prenotazione_id: gone, nome_cognome: 'Chiave una' }] }
  await app.sql`
    insert into idempotency_keys (principal, key, fingerprint, status, body)
    values ('server', 'giornata', '', 200, ${JSON.stringify(day)})`
  const stored = async () => (await app.sql<{ key: string }[]>`
    select key from idempotency_keys where body like '%Chiave una%' order by key`).map(({ key }) => key)
  t.same(await stored(), ['giornata', 'una'])
  t.equal((await erase({ call }, gone)).statusCode, 200)
  t.same(await stored(), [])
  t.equal((await make('altra')).body, kept.body)
  t.match((await make('una')).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  t.equal((await saveGuests(call, gone, guests(1), { 'idempotency-key': 'ospiti' })).statusCode, 200)
})

t.test('the stored response for another booking whose number begins with the same digits is kept', async (t) => {
  const { call, app } = first
  const { id } = await create(call)
  const body = (field: string) => JSON.stringify({ data: [{ [field]: Number(`${id}1`) }] })
  for (const [key, text] of [['a', body('prenotazione_id')], ['b', body('altra_prenotazione_id')]] as const) {
    await app.sql`
      insert into idempotency_keys (principal, key, fingerprint, status, body)
      values ('server', ${key}, '', 200, ${text})`
  }
  await erase({ call }, id)
  t.equal((await app.sql`select from idempotency_keys where body is not null and key in ('a', 'b')`).length, 2)
})

const FILES = 300

t.test('an archive of many files has at most two open at a time, and its listeners do not accumulate', async (t) => {
  const warnings: Error[] = []
  const warned = (warning: Error) => { warnings.push(warning) }
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  let open = 0
  let mostOpen = 0
  let mostListeners = 0
  const bytes = Buffer.alloc(20_000, 1)
  const out = archive(Array.from({ length: FILES }, (_, index) => ({
    path: `documenti/${index}.jpg`,
    changed: new Date(),
    content: {
      bytes: bytes.length,
      open: async () => {
        mostOpen = Math.max(mostOpen, ++open)
        return Readable.from([bytes]).once('close', () => { open-- })
      }
    }
  })))
  let length = 0
  for await (const piece of out) {
    length += (piece as Buffer).length
    const counts = out.eventNames().map((event) => out.listenerCount(event))
    mostListeners = Math.max(mostListeners, ...counts)
  }
  t.ok(length > FILES * bytes.length)
  // The next file is opened before the previous one reports that it is closed.
  t.ok(mostOpen <= 2, `${mostOpen} at a time`)
  t.equal(open, 0)
  t.ok(mostListeners <= 10, `${mostListeners} listeners`)
  t.same(warnings, [])
})

t.test('an archive whose reader stops in the middle leaves no file open', async (t) => {
  let openFiles = 0
  const out = archive(Array.from({ length: 20 }, (_, index) => ({
    path: `${index}`,
    changed: new Date(),
    content: {
      bytes: 1_000_000_000,
      open: async () => {
        openFiles++
        return new Readable({ read () { this.push(Buffer.alloc(65_536)) } }).once('close', () => { openFiles-- })
      }
    }
  })))
  const open = () => openFiles
  for await (const chunk of out) if (open() > 0 && chunk !== null) break
  while (open() > 0) await new Promise((resolve) => { setImmediate(resolve) })
  t.equal(open(), 0)
})
