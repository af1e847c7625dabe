import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { clockAt, every, first, list, outcomes, sandbox, session } from './client.ts'
import { ABROAD, guest, member } from './guest.ts'

// Half past midnight of the 21st in Rome, still the 20th in UTC.
const { db } = await testDatabase(t)
const { call, token: getToken } = await sandbox(t, db, clockAt('2026-11-20T23:30:00Z'))
const prefix = session(await getToken())

async function judge (rows: string[]): Promise<string[]> {
  const { text } = await call('Test', prefix + list(rows))
  t.equal(
    first(text, 'SchedineValide'),
    String(
      every(text, 'esito')
        .slice(1)
        .filter((esito) => esito === 'true').length
    )
  )
  return outcomes(text).slice(1).map((outcome) => outcome.replace('false 12 SCHEDINA_CAMPO_NON_CORRETTO ', ''))
}

const foreign = { ...ABROAD, rilascio: '100000216' }

const GOOD: Record<string, string> = {
  'a guest born in Italy': guest(),
  'a guest born abroad': guest(foreign),
  'an Italian born abroad': guest({ ...foreign, cittadinanza: '100000100', rilascio: '412058091' }),
  'a foreigner born in Italy': guest({ cittadinanza: '100000216', rilascio: '100000216' }),
  'an arrival of today': guest({ arrivo: '21/11/2026' }),
  'an arrival of yesterday': guest({ arrivo: '20/11/2026' }),
  'one night with a zero': guest({ giorni: '01' }),
  'one night with a blank before': guest({ giorni: ' 1' }),
  'one night with a blank behind': guest({ giorni: '1' }),
  'thirty nights': guest({ giorni: '30' }),
  'a name in small letters': guest({ cognome: 'De Rossi', nome: "Ada l'altra" }),
  'a birth on the day of arrival': guest({ nascita: '21/11/2026' }),
  'a birth in a comune that is no more': guest({ comune: '401001501', provincia: 'TO' }),
  'a birth in a state that is no more': guest({ ...foreign, stato: '100000210' }),
  'a document number with a stroke': guest({ numero: 'AB-12/3.4' }),
  'a head without members': guest({ tipo: '17' })
}

const BAD: Record<string, [row: string, text: string]> = {
  'an unknown type': [guest({ tipo: '15' }), 'Tipo Alloggiato Errato'],
  'an arrival of tomorrow': [guest({ arrivo: '22/11/2026' }), 'Data di Arrivo Errata'],
  'an arrival of two days ago': [guest({ arrivo: '19/11/2026' }), 'Data di Arrivo Errata'],
  'an arrival in ISO form': [guest({ arrivo: '2026-11-21' }), 'Data di Arrivo Non Valida'],
  'an arrival that does not exist': [guest({ arrivo: '31/11/2026' }), 'Data di Arrivo Non Valida'],
  'no nights': [guest({ giorni: '00' }), 'Giorni di Permanenza Errati'],
  'thirty-one nights': [guest({ giorni: '31' }), 'Giorni di Permanenza Errati'],
  'nights that are no number': [guest({ giorni: '-1' }), 'Giorni di Permanenza Errati'],
  'no surname': [guest({ cognome: '' }), 'Cognome non valido'],
  'a surname that is not left aligned': [guest({ cognome: ' ROSSI' }), 'Cognome non valido'],
  'no name': [guest({ nome: '' }), 'Nome non valido'],
  'an accent in the surname': [guest({ cognome: 'NICOLÒ' }), 'Nome/Cognome con caratteri non validi'],
  'a hyphen in the name': [guest({ nome: 'ANNE-MARIE' }), 'Nome/Cognome con caratteri non validi'],
  'a digit in the name': [guest({ nome: 'ANNA 2' }), 'Nome/Cognome con caratteri non validi'],
  'a sex by letter': [guest({ sesso: 'F' }), 'Sesso Errato'],
  'a birth that does not exist': [guest({ nascita: '29/02/1983' }), 'Data di Nascita non valida'],
  'a birth after the arrival': [guest({ nascita: '22/11/2026' }), 'Data di Nascita Errata'],
  'a birth state by its ISO number': [guest({ ...foreign, stato: '100000276' }), 'Stato di Nascita Errato'],
  'a birth comune that is missing': [guest({ comune: '', provincia: '' }), 'Comune di Nascita Errato'],
  'a birth comune by its cadastral code': [guest({ comune: 'H501' }), 'Comune di Nascita Errato'],
  'a birth comune for a birth abroad': [guest({ ...foreign, comune: '412058091' }), 'Comune di Nascita Errato'],
  'another province than the comune\'s': [guest({ provincia: 'MI' }), 'Provincia di Nascita Errata'],
  'a province for a birth abroad': [guest({ ...foreign, provincia: 'EE' }), 'Provincia di Nascita Errata'],
  'an unknown citizenship': [guest({ cittadinanza: 'ITA' }), 'Cittadinanza Errata'],
  'a citizenship of a state that is no more': [guest({ cittadinanza: '100000210' }), 'Cittadinanza Errata'],
  'no document type': [guest({ documento: '' }), 'Tipo Documento non valido'],
  'an unknown document type': [guest({ documento: 'PASSP' }), 'Tipo Documento Errato'],
  'no document number': [guest({ numero: '' }), 'Numero Documento non valido'],
  'a document number with a sign': [guest({ numero: 'AB#1' }), 'Numero Documento con caratteri non validi'],
  'no issue place': [guest({ rilascio: '' }), 'Luogo di Rilascio Errato'],
  'Italy itself as the issue place': [guest({ rilascio: '100000100' }), 'Luogo di Rilascio Errato'],
  'an issue place that is no more': [guest({ rilascio: '401001501' }), 'Luogo di Rilascio Errato'],
  'a member without a head': [member(), 'Ospite con Capo Gruppo o Capo Famiglia Mancante']
}

t.test('the test\'s own guest has 168 characters', async (t) => {
  t.equal(guest().length, 168)
})

for (const [title, row] of Object.entries(GOOD)) {
  t.test(`good: ${title}`, async (t) => t.same(await judge([row]), ['true']))
}

for (const [title, [row, text]] of Object.entries(BAD)) {
  t.test(`refused: ${title} (${text})`, async (t) => t.same(await judge([row]), [text]))
}

t.test('one call judges every row on its own, in order', async (t) => {
  const rows = [...Object.values(GOOD), ...Object.values(BAD).map(([row]) => row)]
  t.same(await judge(rows), [...Object.values(GOOD).map(() => 'true'), ...Object.values(BAD).map(([, text]) => text)])
})

t.test('a row of another size is refused as a format, whatever it holds', async (t) => {
  const wrong = 'false 11 SCHEDINA_FORMATO_NON_CORRETTO Dimensione Riga errata'
  t.same(await judge(['', 'x', `${guest()} `, guest().slice(1), `${guest()}000001`]), Array(5).fill(wrong))
})

t.test('members stand behind an accepted head of their kind, next to each other', async (t) => {
  const orphan = 'Ospite con Capo Gruppo o Capo Famiglia Mancante'
  const [family, group, relative, companion] = [
    guest({ tipo: '17' }),
    guest({ tipo: '18' }),
    member(),
    member({ tipo: '20' })
  ]
  t.same(await judge([family, relative, relative, group, companion]), Array(5).fill('true'))
  t.same(await judge([family, companion, group, relative]), ['true', orphan, 'true', orphan])
  t.same(await judge([family, guest(), relative]), ['true', 'true', orphan])
  t.same(await judge([guest({ tipo: '17', sesso: '9' }), relative, relative]), ['Sesso Errato', orphan, orphan])
  t.same(await judge([family, member({ sesso: '9' }), relative]), ['true', 'Sesso Errato', 'true'])
  t.same(await judge([relative, family]), [orphan, 'true'])
})

t.test('members arrive with their head and carry no document', async (t) => {
  const head = guest({ tipo: '17' })
  t.same(await judge([head, member({ arrivo: '20/11/2026' })]), ['true', 'Data di Arrivo Errata'])
  t.same(await judge([head, member({ documento: 'IDENT' })]), ['true', 'Tipo Documento Errato'])
  t.same(await judge([head, member({ numero: 'CA1' })]), ['true', 'Numero Documento non valido'])
  t.same(await judge([head, member({ rilascio: '412058091' })]), ['true', 'Luogo di Rilascio Errato'])
})
