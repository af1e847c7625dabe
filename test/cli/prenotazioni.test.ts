import t from 'tap'
import { create, guests, list, saveGuests } from '#test/bookings/samples.ts'
import { API_KEY } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

const { call, url } = await site(t)
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

t.test('the list is a table whose columns stand under their heads', async (t) => {
  const { code, stdout, stderr } = await run(['prenotazioni', 'list'])
  t.equal(code, 0, stderr)
  t.equal(stdout, [
    'ID  ARRIVO      PARTENZA    NOTTI  OSPITI  NOME                                      CODICE',
    ` ${anna.id}  2026-11-21  2026-11-24      3       2  Anna Bianchi                              BK-1`,
    ` ${wang.id}  2026-11-20  2026-11-30     10       1  王秀英`,
    ` ${carla.id}  2026-12-01  2026-12-02      1       1  Carla Lunga Lunga Lunga Lunga Lunga Lun…  BK-3`,
    ''
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

t.test('nothing found is a sentence, or an empty list', async (t) => {
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

t.test('what the server refuses ends with 1 and its own words', async (t) => {
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
