import { getDocument } from 'unpdf/pdfjs'
import t, { type Test } from 'tap'
import { testDatabase } from '#test/database.ts'
import { every, clockAt, first, list, outcomes, sandbox, session } from './client.ts'
import { guest, member } from './guest.ts'

const { db } = await testDatabase(t)
const clock = clockAt('2026-11-20T10:00:00Z')
const { call, token: getToken } = await sandbox(t, db, clock)

async function receiptOf (date: string, version: 1.1 | 1.2 = 1.2) {
  return (await call('Ricevuta', `${session(await getToken())}<a:Data>${date}</a:Data>`, version)).text
}

async function send (rows: string[]): Promise<void> {
  await call('Send', session(await getToken()) + list(rows))
}

async function linesOf (pdf: Buffer): Promise<string[]> {
  const task = getDocument({ data: new Uint8Array(pdf), isEvalSupported: false, verbosity: 0 })
  const document = await task.promise
  t.equal(document.numPages, 1)
  const { items } = await (await document.getPage(1)).getTextContent()
  await task.destroy()
  return items.map((item) => 'str' in item ? item.str : '').filter((text) => text !== '')
}

function isMissing (t: Test, xml: string): void {
  t.match(outcomes(xml), [/^false 51 ERRORE_RECUPERO_RICEVUTA ./])
  t.same(every(xml, 'PDF'), [])
}

await send([guest({ arrivo: '20/11/2026', giorni: '05' }), guest({ arrivo: '20/11/2026', sesso: 'X', giorni: '09' })])
clock.set('2026-11-21T22:59:00Z')
await send([guest({ tipo: '17', giorni: '03' }), member({ giorni: '03' }), guest({ giorni: ' 1' })])
// The same evening by UTC, the next day in Rome.
clock.set('2026-11-21T23:01:00Z')
await send([guest({ arrivo: '22/11/2026', giorni: '07' })])

t.test('there is none on the day itself, none for a day without schedine, none for the future', async (t) => {
  isMissing(t, await receiptOf('2026-11-22T00:00:00'))
  isMissing(t, await receiptOf('2026-11-19T00:00:00'))
  isMissing(t, await receiptOf('2026-12-01T00:00:00'))
})

t.test('from the day after on it says how many schedine and nights were acquired on the day in Rome', async (t) => {
  const lines = await linesOf(Buffer.from(first(await receiptOf('2026-11-21T00:00:00'), 'PDF'), 'base64'))
  t.equal(lines[0], 'AMBIENTE DI PROVA - SENZA VALORE')
  for (const line of [
    'RICEVUTA DI INVIO',
    'LOGIN RM000001',
    'ID. RICEVUTA 2026/000002 [RM]',
    'DATA DI INVIO 21/11/2026',
    'SCHEDINE INVIATE 3',
    'GG PERMANENZA PRESUNTA TOT. 7',
    'ALLA QUESTURA DI ROMA'
  ]) {
    t.ok(lines.includes(line), line)
  }
  for (const line of [
    /^CATEGORIA ./,
    /^STRUTTURA ./,
    /^COMUNE ./,
    /^INDIRIZZO ./,
    /^P\.IVA-C\.F\. ./,
    /^Codice di Controllo [0-9A-F]{24}$/
  ]) {
    t.ok(
      lines.some((one) => line.test(one)),
      String(line)
    )
  }
})

t.test('refused rows are not counted', async (t) => {
  const lines = await linesOf(Buffer.from(first(await receiptOf('2026-11-20T00:00:00', 1.1), 'PDF'), 'base64'))
  t.ok(
    lines.includes('SCHEDINE INVIATE 1') &&
      lines.includes('GG PERMANENZA PRESUNTA TOT. 5') &&
      lines.includes('ID. RICEVUTA 2026/000001 [RM]')
  )
})

t.test('the same day gives the same bytes, from any instance and at any time', async (t) => {
  const other = await sandbox(t, db, clockAt('2026-12-10T08:00:00Z'))
  const xml = (await other.call('Ricevuta', `${session(await other.token())}<a:Data>2026-11-21T00:00:00</a:Data>`)).text
  t.equal(first(xml, 'PDF'), first(await receiptOf('2026-11-21T00:00:00'), 'PDF'))
  t.ok(Buffer.from(first(xml, 'PDF'), 'base64').subarray(0, 5).equals(Buffer.from('%PDF-')))
})

t.test('a date with an offset is an instant, one without is Italian', async (t) => {
  const expected = first(await receiptOf('2026-11-21T00:00:00'), 'PDF')
  t.equal(first(await receiptOf('2026-11-21T23:59:59.9999999'), 'PDF'), expected)
  t.equal(first(await receiptOf('2026-11-20T23:00:00Z'), 'PDF'), expected)
  t.equal(first(await receiptOf('2026-11-21T00:00:00+01:00'), 'PDF'), expected)
})

t.test('it is given for thirty days', async (t) => {
  clock.set('2026-12-21T10:00:00Z')
  t.same(outcomes(await receiptOf('2026-11-21T00:00:00')), ['true'])
  isMissing(t, await receiptOf('2026-11-20T00:00:00'))
})
