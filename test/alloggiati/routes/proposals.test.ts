import fc from 'fast-check'
import t from 'tap'
import type { Codici } from '#schemas/codici.ts'
import type { Schedina, SchedinaField, Segnalazione } from '#schemas/schedina.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { foreigner, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'

const server = await build(t, { TODAY: today })
const { call } = server

interface Remarks { valid: boolean, errors: Segnalazione[], warnings: Segnalazione[] }

const check = async (guest: Schedina): Promise<Remarks> =>
  (await call('POST', '/api/alloggiati/valida', { ospiti: [guest], prenotazione: soggiorno })).json()

const born = (data_nascita: string, comune_nascita: string, provincia_nascita = '', rest: Schedina = {}) =>
  single({ data_nascita, comune_nascita, provincia_nascita, ...rest })
const issued = (luogo_rilascio: string, rest: Schedina = {}) => single({ luogo_rilascio, ...rest })
const licence = { tipo_documento: 'PATEN', numero_documento: 'U1X00X000X' }

/** A guest with a wrong value, its field, the right value, and the text that names the right value. */
const WRONG: readonly (readonly [string, Schedina, SchedinaField, string, string])[] = [
  ['a sign after the birth', born('1970-01-01', '420092012', 'SU'), 'provincia_nascita', 'CA', 'CARBONIA'],
  ['a sign before it existed', born('1990-01-01', '420090047', 'OT'), 'provincia_nascita', 'SS', 'OLBIA'],
  ['another sign', born('1980-01-01', '412058091', 'MI'), 'provincia_nascita', 'RM', 'ROMA'],
  ['a past sign too late', born('1993-01-01', '403098031', 'MI'), 'provincia_nascita', 'LO', 'LODI'],
  ['an unknown sign', born('1980-01-01', '412058091', 'XX'), 'provincia_nascita', 'RM', 'ROMA'],
  ['a province name', born('1980-01-01', '412058091', 'Roma'), 'provincia_nascita', 'RM', 'ROMA'],
  ['a province name alone', born('1980-01-01', '', 'Napoli'), 'provincia_nascita', 'NA', 'Napoli'],
  ['a comune name', born('1980-01-01', 'Roma', 'RM'), 'comune_nascita', '412058091', 'ROMA (RM)'],
  ['a German name', born('1980-01-01', 'Bozen', 'BZ'), 'comune_nascita', '404021008', 'BOLZANO (BZ)'],
  ['a name of two comuni', born('1980-01-01', 'Castro', 'LE'), 'comune_nascita', '416075096', 'CASTRO (LE)'],
  ['a name of two codes', born('1980-01-01', 'Forlì', 'FO'), 'comune_nascita', '408040012', "FORLI' (FO)"],
  ['a name with a past sign', born('2018-01-01', 'Carbonia', 'SU'), 'comune_nascita', '420092012', 'CARBONIA (CA)'],
  ['an ISTAT code of 2016', born('2018-01-01', '111009', 'CA'), 'comune_nascita', '420092012', 'CARBONIA'],
  ['an ISTAT code of 2026', born('1980-01-01', '119003', 'CA'), 'comune_nascita', '420092012', 'CARBONIA'],
  ['a comune that ended', born('1993-01-01', '408040012', 'FC'), 'comune_nascita', '408140012', "FORLI' (FC)"],
  ['a renamed comune', born('2024-01-01', '404021053', 'BZ'), 'comune_nascita', '404021953', 'MONTAGNA SULLA'],
  ['a state missing', born('1980-01-01', 'Roma', 'RM', { stato_nascita: '' }), 'stato_nascita', '100000100', 'Italia'],
  ['a state name', foreigner({ stato_nascita: 'Germania' }), 'stato_nascita', '100000216', 'GERMANIA'],
  ['an ISO code', foreigner({ stato_nascita: 'DE' }), 'stato_nascita', '100000216', 'GERMANIA'],
  ['a comune as a state', single({ stato_nascita: '412058091' }), 'stato_nascita', '100000100', 'ITALIA'],
  ['a state that ended', foreigner({ stato_nascita: '100000253', data_nascita: '2024-01-01' }), 'stato_nascita',
    '100000997', 'MACEDONIA DEL NORD'],
  ['an alpha-3 code', foreigner({ cittadinanza: 'FRA' }), 'cittadinanza', '100000215', 'FRANCIA'],
  ['the sign of German cars', foreigner({ cittadinanza: 'D' }), 'cittadinanza', '100000216', 'GERMANIA'],
  ['the sign of Italian cars', foreigner({ cittadinanza: 'I' }), 'cittadinanza', '100000100', 'ITALIA'],
  ['the sign of British cars', foreigner({ cittadinanza: 'uk' }), 'cittadinanza', '100000219', 'REGNO UNITO'],
  ['the sign of cars at the birth', foreigner({ stato_nascita: 'SLO' }), 'stato_nascita', '100000251', 'SLOVENIA'],
  ['the sign of cars of the issuer', issued('A', { tipo_documento: 'PASOR' }), 'luogo_rilascio', '100000203', 'AUST'],
  ['a province sign, not Madagascar', issued('RM'), 'luogo_rilascio', '412058091', 'ROMA'],
  ['a number', foreigner({ cittadinanza: '276' }), 'cittadinanza', '100000216', 'GERMANIA'],
  ['an English name', foreigner({ cittadinanza: 'Netherlands' }), 'cittadinanza', '100000232', 'PAESI BASSI'],
  ['a nationality', single({ cittadinanza: 'Italiana' }), 'cittadinanza', '100000100', 'ITALIA'],
  ['a former citizenship', foreigner({ cittadinanza: 'DDR' }), 'cittadinanza', '100000216', 'GERMANIA'],
  ['a document name', single({ tipo_documento: "carta d'identità" }), 'tipo_documento', 'IDENT', 'CARTA DI IDENTITA'],
  ['an English document name', single({ tipo_documento: 'Passport' }), 'tipo_documento', 'PASOR', 'PASSAPORTO'],
  ['an abbreviated document', single({ tipo_documento: 'CIE' }), 'tipo_documento', 'IDELE', 'ELETTRONICA'],
  ['a licence', single({ tipo_documento: 'Führerschein' }), 'tipo_documento', 'PATEN', 'PATENTE DI GUIDA'],
  ['an issuing comune by name', issued('Reggio nell’Emilia'), 'luogo_rilascio', '408035033', 'REGGIO EMILIA'],
  ['the comune of a card', issued('Comune di Merano'), 'luogo_rilascio', '404021051', 'MERANO'],
  ['the questura of a passport', issued('QUESTURA DI NAPOLI'), 'luogo_rilascio', '415063049', 'NAPOLI'],
  ['the central office', issued('MIT-UCO', licence), 'luogo_rilascio', '412058091', 'ROMA'],
  ['an office of the Motorizzazione', issued('MC-NA', licence), 'luogo_rilascio', '415063049', 'NAPOLI'],
  ['an office of the MCTC', issued('MCTC-BO', licence), 'luogo_rilascio', '408037006', 'BOLOGNA'],
  ['an issuing state by ISO code', foreigner({ luogo_rilascio: 'DEU' }), 'luogo_rilascio', '100000216', 'GERMANIA'],
  ['an issuing comune that ended', issued('408040012'), 'luogo_rilascio', '408140012', "FORLI' (FC)"],
  ['a former issuing state', foreigner({ luogo_rilascio: '100000253' }), 'luogo_rilascio', '100000997', 'DEL NORD'],
  ['a sex in words', single({ sesso: 'femmina' }), 'sesso', 'F', 'indicare F'],
  ['a sex in German', single({ sesso: 'Männlich' }), 'sesso', 'M', 'indicare M'],
  ['a sex as a digit', single({ sesso: '2' }), 'sesso', 'F', 'indicare F'],
  ['a day in Italian', single({ data_nascita: '12/04/1985' }), 'data_nascita', '1985-04-12', 'va scritta come 1985'],
  ['a day with dots', single({ data_nascita: '12.4.1985' }), 'data_nascita', '1985-04-12', 'va scritta come 1985'],
  ['a guest type by name', single({ tipo_alloggiato: 'Ospite singolo' }), 'tipo_alloggiato', '16', 'ospite singolo']
]

for (const [title, guest, field, right, words] of WRONG) {
  t.test(`an error names the right value and proposes it: ${title}`, async (t) => {
    const { errors } = await check(guest)
    const error = errors.find(({ campo }) => campo === field)
    t.equal(error?.proposta, right)
    t.match(error?.messaggio, words)
    const corrected = { ...guest, [field]: right }
    t.notOk((await check(corrected)).errors.some(({ campo }) => campo === field), 'the proposal is accepted')
  })
}

t.test('an error with several right values lists them and proposes none', async (t) => {
  for (const [guest, field, ...words] of [
    [foreigner({ stato_nascita: 'Cecoslovacchia', data_nascita: '1994-01-01' }), 'stato_nascita', 'CECA', 'SLOVACCA'],
    [foreigner({ stato_nascita: '100000210', data_nascita: '1994-01-01' }), 'stato_nascita', 'CECA', 'SLOVACCA'],
    [foreigner({ cittadinanza: 'URSS' }), 'cittadinanza', 'UCRAINA', 'FEDERAZIONE RUSSA'],
    [foreigner({ cittadinanza: 'Jugoslavia' }), 'cittadinanza', 'CROAZIA', 'SERBIA'],
    [born('1980-01-01', 'Castro'), 'comune_nascita', 'CASTRO (BG)', 'CASTRO (LE)'],
    [born('1980-01-01', 'Forlì'), 'comune_nascita', "FORLI' (FO)", "FORLI' (FC)"]
  ] as const) {
    const error = (await check(guest)).errors.find(({ campo }) => campo === field)
    t.notOk(error === undefined || 'proposta' in error, field)
    for (const word of words) t.match(error?.messaggio, word)
  }
})

t.test('an unknown value has neither a proposal nor a list', async (t) => {
  for (const [field, value] of [
    ['comune_nascita', 'Atlantide'], ['stato_nascita', 'Atlantide'], ['cittadinanza', '100000826'],
    ['luogo_rilascio', '412058999'], ['tipo_documento', 'ALTRO']
  ] as const) {
    const error = (await check(single({ [field]: value }))).errors.find(({ campo }) => campo === field)
    t.notOk(error === undefined || 'proposta' in error, field)
    // The error for an unknown document lists the usual ones.
    t.notMatch(error?.messaggio, field === 'tipo_documento' ? /tabella dei documenti:|undefined/ : /:|undefined/)
  }
})

t.test('a province sign that was right at the birth is accepted, with a warning that names it', async (t) => {
  for (const [day, comune, sign, sent] of [
    ['2018-05-01', '420092012', 'SU', 'CA'], ['2010-05-01', '420092012', 'CI', 'CA'],
    ['2010-05-01', '420090047', 'OT', 'SS'], ['2010-05-01', '420091037', 'OG', 'NU'],
    ['2010-05-01', '420092092', 'VS', 'CA'], ['2010-05-01', '420091013', 'OR', 'NU'],
    ['1960-05-01', '408140012', 'FO', 'FC'], ['1960-05-01', '403098031', 'MI', 'LO'],
    ['2000-05-01', '403108033', 'MI', 'MB'], ['1960-05-01', '418101010', 'CZ', 'KR'],
    ['1960-05-01', '409100005', 'FI', 'PO'], ['2000-05-01', '411109006', 'AP', 'FM']
  ] as const) {
    const { valid, errors, warnings } = await check(born(day, comune, sign))
    t.same({ valid, errors }, { valid: true, errors: [] }, `${comune} ${sign}`)
    t.match(warnings.find(({ campo }) => campo === 'provincia_nascita')?.messaggio, `«${sent}»`)
  }
  await call('POST', '/api/alloggiati/invio', { ospiti: [born('2018-05-01', '420092012', 'SU')], soggiorno })
  t.match((await call('GET', '/api/alloggiati/sandbox/schedine')).json(), { data: [{ riga: /420092012CA/ }] })
})

t.test('a name stored instead of a code is accepted, and the check of the booking proposes the code', async (t) => {
  const { id } = await create(call, { check_in: today, numero_ospiti: 1 })
  for (const [field, name, code] of [
    ['provincia_nascita', 'Roma', 'RM'], ['comune_nascita', 'San Giovanni Rotondo', '416071046'],
    ['tipo_documento', "carta d'identità elettronica", 'IDELE'], ['tipo_alloggiato', 'Ospite singolo', '16'],
    ['cittadinanza', 'Vereinigtes Königreich', '100000219']
  ] as const) {
    const saved = await saveGuests(call, id, [single({ [field]: name })])
    t.equal(saved.statusCode, 200, saved.body)
    const { errors } = (await call('POST', `/api/v1/prenotazioni/${id}/schedine`)).json<Remarks>()
    t.equal(errors.find(({ campo }) => campo === field)?.proposta, code, field)
  }
})

t.test('an apartment whose comune is not a code is refused, and the error names the code', async (t) => {
  const { admin } = administrator(server)
  const apartment = { descrizione: 'Casa', indirizzo: 'Via dei Prati, 8', proprietario: 'Ada Provetti' }
  for (const [text, code] of [
    ['Roma', '412058091'], ['058091', '412058091'], ['119003', '420092012'], ['Bozen', '404021008'],
    ['Castro', undefined]
  ] as const) {
    const answer = await admin('POST', '/api/v1/appartamenti', { ...apartment, comune_codice: text })
    t.equal(answer.statusCode, 400, text)
    t.match(answer.json().dettagli, [{ campo: 'comune_codice', proposta: code }], text)
  }
})

t.test('a search for any value that a message names finds its code', async () => {
  const { comuni, paesi }: Codici = (await call('GET', '/api/alloggiati/codici')).json()
  const place = fc.constantFrom(...comuni, ...paesi)
  await fc.assert(fc.asyncProperty(place, async ({ descrizione }) => {
    const name = descrizione.replace(/ \(.*$/, '')
    for (const { messaggio } of (await check(issued(name))).errors) {
      for (const [label, code] of messaggio.matchAll(/(\d{9}) [^,]+/g)) {
        const found: Codici = (await call('GET', `/api/alloggiati/codici?${new URLSearchParams({ q: label })}`)).json()
        if (![...found.comuni, ...found.paesi].some(({ codice }) => codice === code)) return false
      }
    }
    return true
  }), { numRuns: 100 })
})
