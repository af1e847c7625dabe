import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { foreigner, member, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, invio, productionEnviron, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { create, guests, list, saveGuests } from '#test/bookings/samples.ts'
import { API_KEY, temporaryFolder } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

const { app, call, url } = await site(t, { TODAY: today })
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

t.test('the list is a table whose columns stand under their heads', async (t) => {
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

t.test('the filters and the order are the server\'s', async (t) => {
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

t.test('with --json the list is what the server said, and how many there are', async (t) => {
  const { stdout, stderr } = await act(['prenotazioni', 'list', '--limit', '1', '--json'])
  t.strictSame(JSON.parse(stdout), { data: (await list(call, '?limit=1')), totale: 3 })
  t.equal(stderr, '')
})

t.test('a list that is cut says so beside the result', async (t) => {
  const { code, stdout, stderr } = await act(['prenotazioni', 'list', '--limit', '2'])
  t.equal(code, 0)
  t.equal(stdout.split('\n').length, 4, 'head, two rows, and the end of the last')
  t.match(stderr, /^Mostrate 2 prenotazioni su 3[^\n]*\n$/)
})

t.test('a list without results is a sentence, or an empty list', async (t) => {
  t.same(await act(['prenotazioni', 'list', '--q', 'nessuno']), {
    code: 0,
    stdout: 'Nessuna prenotazione.\n',
    stderr: ''
  })
  t.strictSame(JSON.parse((await act(['--json', 'prenotazioni', 'list', '--q', 'nessuno'])).stdout), {
    data: [],
    totale: 0
  })
})

t.test('a booking is a card and a table of its guests', async (t) => {
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

t.test('a booking without guests says so', async (t) => {
  t.match((await act(['prenotazioni', 'show', String(carla.id)])).stdout, /\n\nNessun ospite salvato\.\n$/)
})

t.test('with --json a booking is what the server said', async (t) => {
  const { stdout } = await act(['prenotazioni', 'show', String(anna.id), '--json'])
  t.strictSame(JSON.parse(stdout), (await call('GET', `/api/v1/prenotazioni/${anna.id}`)).json().data)
})

t.test('a refusal of the server ends with 1 and its own words', async (t) => {
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

t.test('check says that the service is reached, and in which mode', async (t) => {
  // After the list of bookings was read, which is compared with its whole text.
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

t.test('check of a service that is not there ends with 1 and the reason', async (t) => {
  const other = await site(t, { ALLOGGIATI_MODE: 'production' })
  const { act, keep } = user(t)
  keep({ url: other.url, key: API_KEY })
  t.same(await act(['alloggiati', 'check']), {
    code: 1,
    stdout: '',
    stderr: 'Errore: Credenziali Alloggiati Web non configurate\n'
  })
  t.match(errorOf(await act(['alloggiati', 'check', '--json'])), {
    codice: 'CREDENZIALI_MANCANTI',
    risposta: { connected: false }
  })
})

t.test('valida takes a file, or standard input, and tells warnings without minding them', async (t) => {
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

t.test('valida ends with 5 where there are errors, and names guests from 1', async (t) => {
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

t.test('valida takes the stored guests of a booking', async (t) => {
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

t.test('an apartment is passed on', async (t) => {
  const { stdout } = await act([
    'alloggiati',
    'valida',
    '--json',
    '--prenotazione',
    String(stored.id),
    '--appartamento',
    '7'
  ])
  t.match(JSON.parse(stdout), { soggiorno: { id_appartamento: 7 } })
})

t.test('a test of good records ends with 0 and registers nothing, whatever the file says', async (t) => {
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

t.test('a test of the stored guests of a booking registers nothing', async (t) => {
  const { code, stdout, stderr } = await act(['alloggiati', 'invio', '--test', '--prenotazione', String(stored.id)])
  t.equal(code, 0, stderr)
  t.equal(stdout, '1 schedina valida: nessuna registrazione, era una prova.\n')
  t.equal((await act(['alloggiati', 'invio', '--test', '--prenotazione', String(empty.id)])).code, 5)
})

t.test('a test of bad records ends with 5 and names them', async (t) => {
  const { code, stdout, stderr } = await act(['alloggiati', 'invio', '--test', file(bad)])
  t.equal(code, 5)
  t.match(
    stdout,
    /^Le schedine contengono errori e non sono state inviate\.\nOSPITE {2}CAMPO {14}MESSAGGIO\n {5}2 {2}provincia_nascita {2}/
  )
  t.equal(stderr, '')
  const json = await act(['--json', 'alloggiati', 'invio', '--test', file(bad)])
  t.equal(json.code, 5)
  t.match(JSON.parse(json.stdout), { success: false, codice: 'VALIDAZIONE', errors: [{ ospite: 1 }] })
})

t.test(
  'a test that the police refuses ends with 5 and says what of whom; one that it does not answer ends with 1',
  async (t) => {
    const police = await standIn(t)
    police.on.Test = answer(rowsReply('Test', [true, false]))
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
  'a file that cannot be used is said in one line: 1 when it cannot be read, 2 when it is no JSON object',
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

t.test('a file that is not of the contract ends with 1 and names the field', async (t) => {
  for (const command of [['valida'], ['invio', '--test']]) {
    const { code, stderr } = await act(['alloggiati', ...command, file({ ...good, extra: 1 })])
    t.equal(code, 1)
    t.match(stderr, 'extra')
  }
})

t.test('after all of this nothing has been sent', async (t) => {
  t.same(await app.sql`select from invii`, [])
  t.same((await call('GET', '/api/alloggiati/sandbox/schedine')).json(), { data: [] })
})
