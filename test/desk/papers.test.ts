import t from 'tap'
import { single } from '#test/alloggiati/rules/samples.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { errorOf, formsOf, visitorBrowser, type VisitorBrowser } from '#test/identity/pages/visitor.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const server = await buildDesk(t)
const { app, call } = server
const today = '2026-11-28'
const browser = await signedIn(server)
const CSV = 'Alloggio,Incasso\nTrilocale,1234.50\nAttico,900.00\n'
/** More than the 32 KiB that a public route accepts by default. */
const LARGE = `${CSV}${`Attico ${'lungo '.repeat(100)},1.00\n`.repeat(60)}`

t.test('the search finds guests, documents and codes, and gives advice when it finds none', async (t) => {
  const { id } = await create(call, { check_in: today, nome_cognome: 'Anna Bianchi', idf_gen: 'BK-4711' })
  await saveGuests(call, id, [single({ cognome: 'Rosselli', numero_documento: 'CA99887ZZ' })])
  for (const q of ['bianchi', 'rosselli', 'CA99887ZZ', 'BK-4711']) {
    await browser.open(`/ricerca?q=${q}`)
    t.match(browser.page().body, `href="/prenotazioni/${id}">Anna Bianchi`, q)
  }
  await browser.open('/ricerca?q=germania')
  t.match(browser.page().body, /<th scope="row">100000216<\/th><td>GERMANIA/)
  await browser.open('/ricerca?q=zzqqxx')
  t.match(browser.page().body, 'Niente trovato per «zzqqxx».')
  await browser.open('/ricerca?q=%20a')
  t.match(browser.page().body, 'almeno due lettere')
  await browser.open(`/ricerca?q=${encodeURIComponent('<b>"')}`)
  t.match(browser.page().body, 'value="&lt;b&gt;&quot;"')
})

t.test('a letter is made in one click, opened and deleted', async (t) => {
  const { id } = await create(call, { check_in: '2026-11-29', nome_cognome: 'Berta Lang', lingua: 'DE' })
  await browser.open('/lettere')
  t.match(browser.page().body, /Berta Lang<small>3 notti/)
  await browser.submit(`/lettere/${id}`)
  t.equal(browser.page().path, '/lettere?esito=creato')
  t.notMatch(browser.page().body, /Berta Lang<small>/, 'the booking left the list')
  t.match(browser.page().body, `<p><a class="button primary" href="/lettere/${id}/pdf">Apri la lettera di Berta Lang<`)
  await browser.open(`/lettere/${id}/pdf`)
  t.match(browser.page().headers, { 'content-type': 'application/pdf', 'content-disposition': 'inline; filename=' })
  t.match(browser.page().rawPayload.subarray(0, 5).toString(), '%PDF-')
  await browser.open('/lettere')
  await browser.submit(`/lettere/${id}/elimina`)
  t.match(browser.page().body, 'Eliminato.')
  t.match(browser.page().body, /Berta Lang<small>/)
})

t.test('a report is made of an uploaded file, opened and deleted', async (t) => {
  await browser.open('/report')
  t.match(browser.page().body, 'Ancora nessun report')
  const made = await upload(browser, { titolo: 'Estate 2026', file: LARGE })
  t.equal(made.statusCode, 303, made.body)
  await browser.open(String(made.headers.location))
  const { body } = browser.page()
  t.match(body, 'Estate 2026-2026-11-28.pdf')
  const page = /href="(\/report\/[\w-]+)"/.exec(body)![1]!
  await browser.open(page)
  t.match(browser.page().rawPayload.subarray(0, 5).toString(), '%PDF-')
  await browser.open('/report')
  await browser.submit(`${page}/elimina`)
  t.match(browser.page().body, 'Eliminato.')
})

t.test('reports without a title have the names of their files', async (t) => {
  for (const name of ['Incassi più recenti.csv', 'Incassi (1).CSV', '.csv', `${'ì'.repeat(200)}.csv`, 'a\u202eb.csv']) {
    await browser.open('/report')
    t.match(await upload(browser, { file: LARGE, name }), { statusCode: 303 }, name)
  }
  await browser.open('/report')
  const names = [...browser.page().body.matchAll(/<a class="who" [^>]*>([^<]*)-2026-11-28\.pdf</g)]
    .map(([, name]) => name)
  t.same(names, ['ab', 'ì'.repeat(100), 'report', 'Incassi (1)', 'Incassi più recenti'])
})

t.test('the form of a report refuses a missing or unreadable file and a wrong token', async (t) => {
  await browser.open('/report')
  const missing = await upload(browser, { titolo: 'Estate 2026' })
  t.equal(missing.statusCode, 400)
  t.match(missing.body, /id="f-file-error"/)
  t.match(missing.body, 'value="Estate 2026"', 'the typed title is kept')
  const sheet = await upload(browser, { file: new Blob([Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0, 0xff, 0x81, 0)]) })
  t.equal(sheet.statusCode, 400)
  t.match(errorOf(sheet.body, 'f-file'), 'Da Excel: Salva con nome, tipo di file «CSV»')
  t.equal((await upload(browser, { modulo: 'x', file: CSV })).statusCode, 403)
  const broken = await app.inject({
    method: 'POST',
    url: '/report',
    headers: { accept: 'text/html', cookie: browser.cookie(), 'content-type': 'multipart/form-data; boundary=x' },
    payload: 'non è un modulo'
  })
  t.equal(broken.statusCode, 400)
})

t.test('an upload is read only for a signed-in person, and has few parts', async (t) => {
  const signedOut = await visitorBrowser(app).open('/auth/accedi')
  const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'
  for (const url of ['/report', '/scansione/1/0']) {
    const send = (cookie: string, payload: string) => app.inject({
      method: 'POST',
      url,
      headers: { accept: 'text/html', cookie, 'content-type': 'multipart/form-data; boundary=x' },
      payload
    })
    const stranger = await send(signedOut.cookie(), 'non è un modulo')
    t.match(stranger, { statusCode: 303, headers: { location: '/auth/accedi' } }, 'the body was not read')
    const names = [...'abcdefghi'].map((name) => part.replace('"a"', `"${name}"`))
    const many = await send(browser.cookie(), `${names.join('')}--x--`)
    t.match(many, { statusCode: 400, body: 'troppe parti' })
  }
})

t.test('only an administrator restarts a failed job or ends maintenance in Avvisi', async (t) => {
  const admin = await signedIn(server, 'ada@example.org', { role: 'admin' })
  await admin.open('/avvisi')
  t.match(admin.page().body, 'Nessun salvataggio automatico')
  await browser.open('/avvisi')
  t.match(browser.page().body, /Nessun avviso: tutto funziona\. Controllato adesso/)
  const started = await app.inject({
    method: 'POST',
    url: '/api/settings/maintenance',
    headers: { authorization: `Bearer ${await server.token({ role: 'admin' })}` },
    payload: { enabled: true, message: 'Torniamo alle 14' }
  })
  t.equal(started.statusCode, 200, started.body)
  await browser.open('/avvisi')
  t.match(browser.page().body, /Manutenzione in corso[^]*Torniamo alle 14/)
  t.notMatch(browser.page().body, 'action="/avvisi/manutenzione"')
  await browser.open('/lettere')
  t.match(browser.page(), { statusCode: 503, body: 'Torniamo alle 14' })
  await admin.open('/avvisi')
  await admin.submit('/avvisi/manutenzione')
  t.notMatch(admin.page().body, 'Manutenzione in corso')
  await app.sql`
    update jobs set outcome = 'fallito', error = 'ECONNREFUSED', started_at = now(), finished_at = now()
    where name = 'receipts'`
  await browser.open('/avvisi')
  t.notMatch(browser.page().body, 'Non riuscito', 'an operator cannot start a job')
  await admin.open('/avvisi')
  t.match(admin.page().body, /Non riuscito: Scarica le ricevute[^]*ECONNREFUSED/)
  await admin.submit('/avvisi/lavori/receipts')
  t.notMatch(admin.page().body, 'Non riuscito')
})

interface Upload { file?: string | Blob, name?: string, titolo?: string, modulo?: string }

/** Submits the form of the report as a browser does. */
async function upload (
  visitor: VisitorBrowser, { file, name = 'incassi.csv', ...values }: Upload
) {
  const fields = Object.fromEntries(formsOf(visitor.page().body).find(({ action }) => action === '/report')!.fields)
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...fields, ...values })) if (name !== 'file') form.set(name, value)
  // Without a chosen file, browsers send an empty file without a name.
  form.set('file', file === undefined ? new File([], '') : new File([file], name, { type: 'text/csv' }))
  const encoded = new Response(form)
  return await app.inject({
    method: 'POST',
    url: '/report',
    headers: {
      accept: 'text/html', cookie: visitor.cookie(), 'content-type': encoded.headers.get('content-type')!
    },
    payload: Buffer.from(await encoded.arrayBuffer())
  })
}
