import t from 'tap'
import { addDays, italianDay } from '#src/lib/time.ts'
import { family, single, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { build } from '#test/helper.ts'

const FILE = '/api/alloggiati/file'
const clock = clockAt(`${today}T12:00:00+01:00`)
const { call } = await build(t, {}, undefined, { clock })
const stay = (check_in: string, more: object = {}) => ({ check_in, numero_notti: 3, ...more })

const [first, before] = [addDays(today, -30), addDays(today, -31)]
const OUTSIDE = `La data di arrivo deve essere fra il ${italianDay(first)} e oggi (${italianDay(today)}): il file ` +
  'per la PEC vale per gli arrivi degli ultimi 30 giorni'

/** The lines of the file, or the fields with errors. */
type Wanted = { lines: number, length?: number } | { errors: object[] }
const CASES: Readonly<Record<string, [body: object, wanted: Wanted]>> = {
  'an arrival of today': [{ ospiti: [single()], prenotazione: stay(today) }, { lines: 1 }],
  'an arrival of yesterday': [{ ospiti: [single()], prenotazione: stay(addDays(today, -1)) }, { lines: 1 }],
  'an arrival two days ago': [{ ospiti: [single()], prenotazione: stay(addDays(today, -2)) }, { lines: 1 }],
  'a family that arrived a week ago': [{ ospiti: family(), prenotazione: stay(addDays(today, -7)) }, { lines: 2 }],
  'an arrival 29 days ago': [{ ospiti: [single()], prenotazione: stay(addDays(today, -29)) }, { lines: 1 }],
  'an arrival 30 days ago': [{ ospiti: [single()], prenotazione: stay(first) }, { lines: 1 }],
  'the stay by its other name': [{ ospiti: [single()], soggiorno: stay(addDays(today, -5)) }, { lines: 1 }],
  'a stay that is over': [
    { ospiti: [single()], prenotazione: stay(addDays(today, -9), { numero_notti: 1 }) }, { lines: 1 }
  ],
  'an apartment': [
    { ospiti: [single()], prenotazione: stay(addDays(today, -4), { id_appartamento: 3 }) }, { lines: 1, length: 174 }
  ],
  'an arrival 31 days ago': [
    { ospiti: [single()], prenotazione: stay(before) },
    { errors: [{ ospite: 0, campo: 'check_in', messaggio: OUTSIDE }] }
  ],
  'an arrival of tomorrow': [
    { ospiti: [single()], prenotazione: stay(addDays(today, 1)) },
    { errors: [{ ospite: 0, campo: 'check_in', messaggio: OUTSIDE }] }
  ],
  'an arrival of another year': [
    { ospiti: [single()], prenotazione: stay('2025-11-20') },
    { errors: [{ ospite: 0, campo: 'check_in', messaggio: OUTSIDE }] }
  ],
  'a day that does not exist': [
    { ospiti: [single()], prenotazione: stay('2026-11-31') },
    { errors: [{ campo: 'check_in', messaggio: /non è un giorno del calendario/ }] }
  ],
  'another rule': [
    { ospiti: [single({ sesso: 'X' })], prenotazione: stay(addDays(today, -3)) }, { errors: [{ campo: 'sesso' }] }
  ],
  'a member without a leader': [
    { ospiti: [single({ tipo_alloggiato: '19' })], prenotazione: stay(addDays(today, -3)) },
    { errors: [{ campo: 'tipo_alloggiato' }] }
  ]
}

for (const [name, [body, wanted]] of Object.entries(CASES)) {
  const isGood = 'lines' in wanted
  t.test(`the file for certified mail ${isGood ? 'takes' : 'refuses'} ${name}`, async (t) => {
    const file = await call('POST', FILE, body)
    if (!isGood) {
      t.match(file.json(), { status: 422, codice: 'VALIDAZIONE', ...wanted })
      t.equal(file.headers['x-alloggiati-canale'], undefined)
      return
    }
    const { prenotazione, soggiorno } = body as Record<string, { check_in: string } | undefined>
    const arrival = (prenotazione ?? soggiorno)!.check_in
    const lines = file.payload.split('\r\n')
    t.equal(file.statusCode, 200)
    t.equal(file.headers['x-alloggiati-canale'], 'pec')
    t.same(lines.map((line) => [line.slice(2, 12), line.length]),
      Array.from({ length: wanted.lines }, () => [italianDay(arrival), wanted.length ?? 168]))
  })
}

t.test('just after midnight the last day is counted in Rome', async (t) => {
  clock.set(`${today}T00:05:00+01:00`)
  t.equal((await call('POST', FILE, { ospiti: [single()], prenotazione: stay(first) })).statusCode, 200)
  t.equal((await call('POST', FILE, { ospiti: [single()], prenotazione: stay(before) })).statusCode, 422)
  clock.set(`${today}T12:00:00+01:00`)
})

t.test('the service still takes only today and yesterday, and its refusal names the file', async (t) => {
  const body = { ospiti: [single()], prenotazione: stay(addDays(today, -2)) }
  for (const url of ['/api/alloggiati/invio', '/api/alloggiati/valida']) {
    t.match((await call('POST', url, body)).json().errors, [
      { campo: 'check_in', messaggio: /oggi .* o ieri .*non accetta altre date.*file per la PEC/ }
    ], url)
  }
})
