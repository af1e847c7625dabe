import t from 'tap'
import { addDays, italianDay } from '#src/lib/time.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { family, single, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { build } from '#test/helper.ts'

const FILE = '/api/alloggiati/file'
const clock = clockAt(`${today}T12:00:00+01:00`)
const server = await build(t, {}, undefined, { clock })
const { call } = server
const stay = (check_in: string, more: object = {}) => ({ check_in, numero_notti: 3, ...more })

const [first, before] = [addDays(today, -30), addDays(today, -31)]
const OUTSIDE = `La data di arrivo deve essere fra il ${italianDay(first)} e oggi (${italianDay(today)}): il file ` +
  'per la PEC vale per gli arrivi degli ultimi 30 giorni'

/** The expected lines of the file, or the expected fields with errors. */
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

/** An arrival, its nights, and the check_in and nights of the file that declares the rest. */
const REST: [title: string, arrival: number, nights: number, way: RegExp][] = [
  ['that is over', -40, 9, /rivolgersi alla Questura$/],
  ['that ended with its 30th night', -40, 30, /rivolgersi alla Questura$/],
  ['of 45 nights', -40, 45, new RegExp(`per le altre indicare check_in ${addDays(today, -10)} e numero_notti 15$`)],
  ['of 31 nights', -31, 31, new RegExp(`indicare check_in ${addDays(today, -1)} e numero_notti 1$`)],
  ['of 90 nights', -60, 90, new RegExp(`indicare check_in ${addDays(today, -30)} e numero_notti 60$`)],
  ['of 200 nights', -100, 200, new RegExp(`indicare check_in ${addDays(today, -10)} e numero_notti 110$`)]
]

t.test('an arrival over 30 days ago is refused with the nights that a file can still declare', async (t) => {
  for (const [title, arrival, numero_notti, messaggio] of REST) {
    const prenotazione = { check_in: addDays(today, arrival), numero_notti }
    const refused = await call('POST', FILE, { ospiti: [single()], prenotazione })
    t.match(refused.json(), { status: 422, errors: [{ campo: 'check_in', messaggio }] }, `a stay ${title}`)
    const [, check_in, nights] = /check_in (\S+) e numero_notti (\d+)$/.exec(refused.json().errors[0].messaggio) ?? []
    if (check_in === undefined) continue
    const rest = { ospiti: [single()], prenotazione: { check_in, numero_notti: Number(nights) } }
    t.equal((await call('POST', FILE, rest)).statusCode, 200, `the rest of a stay ${title}`)
  }
})

t.test('warnings about the file are in a header: nights over 30, and an apartment that is not active', async (t) => {
  const { admin } = administrator(server)
  const avvisi = async (more: object) => {
    const file = await call('POST', FILE, { ospiti: [single()], prenotazione: stay(addDays(today, -5), more) })
    t.equal(file.statusCode, 200)
    const text = file.headers['x-alloggiati-avvisi']
    return text === undefined ? [] : JSON.parse(String(text))
  }
  t.same(await avvisi({}), [])
  t.same(await avvisi({ id_appartamento: 99 }), [], 'the service lists no apartment')
  await admin('POST', '/api/v1/appartamenti', {
    descrizione: 'Casa', comune_codice: '412058091', indirizzo: 'Via dei Prati, 8', proprietario: 'Ada Provetti'
  })
  const [night, rest] = [addDays(today, 25), 'altro file, con check_in ']
  t.match(await avvisi({ id_appartamento: 99, numero_notti: 40 }), [
    { ospite: 0, campo: 'numero_notti', messaggio: `${rest}${night} e numero_notti 10` },
    { campo: 'id_appartamento', messaggio: 'L’appartamento 99 non è fra quelli attivi. Indicare uno fra 0 CASA' }
  ])
  t.same(await avvisi({ id_appartamento: 0 }), [])
})

t.test('the 30 days are counted in Rome’s time, even just after midnight', async (t) => {
  clock.set(`${today}T00:05:00+01:00`)
  t.equal((await call('POST', FILE, { ospiti: [single()], prenotazione: stay(first) })).statusCode, 200)
  t.equal((await call('POST', FILE, { ospiti: [single()], prenotazione: stay(before) })).statusCode, 422)
  clock.set(`${today}T12:00:00+01:00`)
})

t.test('an arrival before yesterday is refused for the service, and the error mentions the file', async (t) => {
  const body = { ospiti: [single()], prenotazione: stay(addDays(today, -2)) }
  for (const url of ['/api/alloggiati/invio', '/api/alloggiati/valida']) {
    t.match((await call('POST', url, body)).json().errors, [
      { campo: 'check_in', messaggio: /oggi .* o ieri .*non accetta altre date.*file per la PEC/ }
    ], url)
  }
})
