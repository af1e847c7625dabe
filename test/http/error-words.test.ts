import type { RouteOptions } from 'fastify'
import t from 'tap'
import type { FieldError } from '#schemas/common.ts'
import { formatWords, patternWords } from '#src/http/schema-words.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, booking } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { type Schema, walk } from '#test/schema-walk.ts'

const all: RouteOptions[] = []
const shared: Record<string, Schema> = {}
const { app, token } = await build(t, { PUBLIC_URL: 'https://locanda.example', TODAY: '2026-11-21' }, (app) => {
  app.addHook('onRoute', function collect (route) {
    all.push(route)
    Object.assign(shared, this.getSchemas())
  })
})
const headers = bearer(await token({ name: 'capo', role: 'admin' }))
const ask = async (url: string, payload?: object) =>
  await app.inject({ method: payload === undefined ? 'GET' : 'POST', url, headers, ...payload && { payload } })

t.test('every pattern and format of a request schema has an error text', async (t) => {
  const found = new Map<string, string>()
  for (const { url, schema = {} } of all.filter(({ url }) => url.startsWith('/api/'))) {
    for (const part of [schema.body, schema.querystring, schema.params] as (Schema | undefined)[]) {
      for (const [place, { pattern, format }] of part === undefined ? [] : walk(part, shared)) {
        if (pattern !== undefined && patternWords(pattern) === undefined) found.set(pattern, `${url} ${place}`)
        if (format !== undefined && formatWords(format) === undefined) found.set(format, `${url} ${place}`)
      }
    }
  }
  t.same([...found], [])
})

const SCAN = {
  name: 'BIANCA', surname: 'ROSSI', docNum: 'CA00000AA', birthDate: '1964-12-30', gender: 'F', nationality: 'ITA'
}

/** A body or query with one wrong field, and the message about it. */
const WRONG: [url: string, body: object | undefined, campo: string, messaggio: RegExp | string][] = [
  [BOOKINGS, booking({ lingua: 'ita' }), 'lingua',
    'deve essere di due lettere, per esempio IT (ricevuto «ITA»)'],
  [BOOKINGS, booking({ check_out: '30/11/2026' }), 'check_out',
    'deve essere un giorno: scrivere la data come 2026-11-30 (ricevuto «30/11/2026»)'],
  [BOOKINGS, booking({ check_in: '1.12.2026' }), 'check_in', /scrivere la data come 2026-12-01/],
  [BOOKINGS, booking({ check_in: '2026-11-21T10:00:00Z' }), 'check_in', /scrivere la data come 2026-11-21/],
  [BOOKINGS, booking({ check_in: '20261121' }), 'check_in', /scrivere la data come 2026-11-21/],
  [BOOKINGS, booking({ check_in: '2026-02-30' }), 'check_in',
    /^deve essere un giorno del calendario: scrivere la data come AAAA-MM-GG, per esempio .*«2026-02-30»/],
  [BOOKINGS, booking({ email: 'anna' }), 'email', 'deve essere un indirizzo e-mail, per esempio anna@example.com'],
  [BOOKINGS, booking({ nome_cognome: 'a\nb' }), 'nome_cognome', /non può contenere a capo/],
  [BOOKINGS, booking({ check_in: '2026-11-11', check_out: '2026-11-10' }), 'check_out',
    'deve essere dopo check_in, l’11/11/2026 (ricevuto «2026-11-10»)'],
  ['/api/v1/invii/giornata', { data: '2020-01-01', prova: true }, 'data', /giorni da oggi \(ricevuto «2020-01-01»\)$/],
  [BOOKINGS, booking({ numero_ospiti: null }), 'numero_ospiti', 'deve avere un valore'],
  [BOOKINGS, booking({ nome_cognome: null }), 'nome_cognome', 'deve avere un valore'],
  [BOOKINGS, booking({ nome_cognome: undefined }), 'nome_cognome', 'è un campo obbligatorio'],
  [BOOKINGS, booking({ numero_ospiti: '2' }), 'numero_ospiti',
    'deve essere un numero intero (ricevuto il testo «2»)'],
  [BOOKINGS, booking({ numero_ospiti: [2] }), 'numero_ospiti', /\(ricevuto un elenco\)$/],
  [BOOKINGS, booking({ numero_ospiti: 0 }), 'numero_ospiti', 'deve essere almeno 1 (ricevuto 0)'],
  [BOOKINGS, booking({ lingua: true }), 'lingua', 'deve essere un testo (ricevuto true)'],
  [`${BOOKINGS}?limit=molti`, undefined, 'limit', /\(ricevuto il testo «molti»\)$/],
  [`${BOOKINGS}?limit=5&cursor=MTIz`, undefined, 'cursor', /ripartire dalla prima pagina, senza cursor$/],
  ['/api/v1/eventi?cursor=domani', undefined, 'cursor', /copiarlo da un evento, o toglierlo/],
  [`${BOOKINGS}?check_in_da=21/11/2026`, undefined, 'check_in_da', /2026-11-21/],
  [`${BOOKINGS}?sort=nome`, undefined, 'sort', /^deve essere uno fra id, -id, .*\(ricevuto «nome»\)$/],
  [`${BOOKINGS}?updated_since=ieri`, undefined, 'updated_since', /per esempio 2026-11-30T09:30:00Z/],
  ['/api/v1/audit?da=21/11/2026', undefined, 'da', /2026-11-21/],
  ['/api/v1/invii/giornata', { data: '21/11/2026' }, 'data', /2026-11-21/],
  ['/api/saveOspiti', { prenotazione_id: 1, dati: [{ nome: 'A', cognome: 'B', data_nascita: '12/04/1985' }] },
    'dati[0].data_nascita', /1985-04-12/],
  ['/api/saveOspiti', { prenotazione_id: 1, dati: [{ nome: 'A', cognome: 'B', sesso: 'donna' }] },
    'dati[0].sesso', 'deve essere uno fra M, F, X, < (ricevuto «DONNA»)'],
  ['/api/v1/appartamenti', { descrizione: 'a', comune_codice: 'Roma', indirizzo: 'b', proprietario: 'c' },
    'comune_codice', /codice di nove cifre.*412058091/],
  ['/api/cli/auth/key?scopes=tutto', undefined, 'scopes', /per esempio lettura,scrittura \(ricevuto «tutto»\)$/],
  ['/api/operators', { email: 'a@example.org', password: 7, name: 'a', surname: 'b' }, 'password',
    'deve essere un testo (ricevuto un altro tipo)'],
  ['/api/alloggiati/invio', { ospiti: [single()] }, 'prenotazione', 'è un campo obbligatorio se manca soggiorno'],
  ['/api/save-scan', { ...SCAN, gender: 'ragazza' }, 'gender', /\(ricevuto «RAGAZZA»\)$/],
  ['/api/save-scan', { ...SCAN, birthDate: 'aprile' }, 'birthDate', /AAAA-MM-GG.*\(ricevuto «aprile»\)$/],
  ['/api/save-scan', { ...SCAN, nationality: 'IT' }, 'nationality', /^deve essere di tre lettere, per esempio ITA/],
  ['/api/ocr', { image: 'non è base64' }, 'image', /^(?!.*ricevuto)/],
  ['/api/v1/email?ids=uno', undefined, 'ids', /per esempio 12,13/],
  ['/api/settings/features', { key: 'È', enabled: true }, 'key', /solo lettere minuscole/]
]

t.test('an error names the wrong field once, in a host\'s terms, with the right value if known', async (t) => {
  for (const [url, body, campo, messaggio] of WRONG) {
    const answer = await ask(url, body)
    const { dettagli } = answer.json<{ dettagli: FieldError[] }>()
    t.match(dettagli, [{ campo, messaggio }], `${url} ${campo}`)
    t.equal(dettagli.filter((each) => each.campo === campo).length, 1)
    t.notMatch(answer.body, /formato non valido|stringa|booleano|non ammessi o/)
  }
})

t.test('an unknown guest type hides no other error', async (t) => {
  for (const tipo_alloggiato of ['99', '', 'Capo famiglia e gruppo']) {
    const guest = single({ tipo_alloggiato, tipo_documento: 'XX', numero_documento: '', luogo_rilascio: 'Atlantide' })
    const prenotazione = { check_in: '2026-11-21', numero_notti: 1 }
    const { errors } = (await ask('/api/alloggiati/valida', { ospiti: [guest], prenotazione })).json()
    t.same(errors.map(({ campo }: Remark) => campo),
      ['tipo_alloggiato', 'tipo_documento', 'numero_documento', 'luogo_rilascio'], tipo_alloggiato)
  }
})

/** A field, a value in another spelling, and the right value. */
const SPELLED: [url: string, body: (value: string) => object, campo: string, value: string, right: string][] = [
  [BOOKINGS, (check_in) => booking({ check_in }), 'check_in', '1.12.2026', '2026-12-01'],
  [BOOKINGS, (check_out) => booking({ check_out }), 'check_out', '30/11/2026', '2026-11-30'],
  ['/api/v1/invii/giornata', (data) => ({ data, prova: true }), 'data', '21-11-2026', '2026-11-21'],
  ['/api/save-scan', (birthDate) => ({ ...SCAN, birthDate }), 'birthDate', '30/12/1964', '1964-12-30'],
  ['/api/save-scan', (birthDate) => ({ ...SCAN, birthDate }), 'birthDate', '30.12.1964', '1964-12-30'],
  ['/api/save-scan', (expiryDate) => ({ ...SCAN, expiryDate }), 'expiryDate', '30/12/2032', '2032-12-30'],
  ['/api/save-scan', (gender) => ({ ...SCAN, gender }), 'gender', 'femmina', 'F'],
  ['/api/save-scan', (gender) => ({ ...SCAN, gender }), 'gender', 'Male', 'M'],
  ...([
    ['data_nascita', '12/04/1985', '1985-04-12'],
    ['sesso', 'donna', 'F'], ['sesso', 'männlich', 'M'], ['sesso', '2', 'F']
  ] as const).map(([campo, value, right]): typeof SPELLED[number] => [
    '/api/saveOspiti', (text) => ({ prenotazione_id: 1, dati: [{ cognome: 'B', [campo]: text }] }), `dati[0].${campo}`,
    value, right
  ])
]

t.test('an error about a value in another spelling proposes the right value', async (t) => {
  for (const [url, body, campo, value, right] of SPELLED) {
    const { dettagli } = (await ask(url, body(value))).json<{ dettagli: FieldError[] }>()
    t.match(dettagli, [{ campo, messaggio: /ricevuto/, proposta: right }], `${campo} ${value}`)
    const answer = await ask(url, body(right))
    const { dettagli: left = [] } = answer.json<{ dettagli?: FieldError[] }>()
    t.notOk(left.some((each) => each.campo === campo), `${campo} ${right}`)
  }
})

interface Remark { ospite: number, campo: string, messaggio: string }
/** A schedina or its stay with one wrong field. The error must name that field, and not another. */
const MISWRITTEN: [stay: object, guest: object, campo: string, messaggio: string | RegExp][] = [
  [{ check_out: '30/11/2026' }, {}, 'check_out',
    'La data di partenza «30/11/2026» va scritta come 2026-11-30'],
  [{ check_out: 'lunedì' }, {}, 'check_out', /«lunedì».*AAAA-MM-GG$/],
  [{ check_out: '2026-11-20' }, {}, 'check_out',
    'La data di partenza (20/11/2026) deve essere dopo l’arrivo (21/11/2026)'],
  [{ check_in: '21/11/2026', numero_notti: 1 }, {}, 'check_in', /«21\/11\/2026».*2026-11-21$/],
  [{ numero_notti: 0 }, {}, 'numero_notti', /numero intero, almeno 1 \(ricevuto 0\)$/],
  [{ numero_notti: 1 }, { data_nascita: '15/05/1980' }, 'data_nascita', /«15\/05\/1980».*1980-05-15$/],
  [{ check_in: '29/11/2026', numero_notti: 1 }, {}, 'check_in',
    'La data di arrivo «29/11/2026» va scritta come 2026-11-29'],
  [{ check_in: '2026-11-22', numero_notti: 1 }, {}, 'check_in', /accetta un arrivo da quel giorno: inviare allora$/],
  [{ check_in: '2026-11-19', numero_notti: 1 }, {}, 'check_in', /arrivo precedente scaricare il file per la PEC/],
  [{ numero_notti: 1 }, { comune_nascita: 'Atlantide' }, 'comune_nascita', /GET \/api\/alloggiati\/codici\?q=$/],
  [{ numero_notti: 1 }, { cittadinanza: 'Atlantide' }, 'cittadinanza', /GET \/api\/alloggiati\/codici\?q=$/],
  [{ numero_notti: 1 }, { luogo_rilascio: 'Atlantide' }, 'luogo_rilascio', /GET \/api\/alloggiati\/codici\?q=$/],
  [{ numero_notti: 1 }, { sesso: 'x' }, 'sesso', 'Il sesso «X» deve essere M o F'],
  [{ numero_notti: 1 }, { cognome: '…' }, 'cognome', /./],
  [{ numero_notti: 1 }, { nome: '--' }, 'nome', /./],
  [{ numero_notti: 1 }, { cognome: 'è'.repeat(60) }, 'cognome', /60 caratteri/],
  [{ numero_notti: 1 }, { numero_documento: '---' }, 'numero_documento', /./],
  [{ numero_notti: 1 }, { tipo_documento: 'XX' }, 'tipo_documento', /XX/]
]

t.test('valida names the wrong field, and no warning is about a field with an error', async (t) => {
  for (const [stay, guest, campo, messaggio] of MISWRITTEN) {
    const answer = await ask('/api/alloggiati/valida', {
      ospiti: [single(guest)], prenotazione: { check_in: '2026-11-21', ...stay }
    })
    const { errors, warnings } = answer.json<{ errors: Remark[], warnings: Remark[] }>()
    t.match(errors, [{ ospite: 0, campo, messaggio }], `${campo}: ${answer.body}`)
    t.equal(errors.length, 1, answer.body)
    t.same(warnings.filter((warning) => warning.campo === campo), [], answer.body)
    t.notMatch(answer.body, /«»/)
  }
})
