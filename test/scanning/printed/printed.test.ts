import t from 'tap'
import type { ParseMrzResponse, ScannedGuest } from '#schemas/scanning.ts'
import { printedGuest } from '#src/scanning/printed/printed-guest.ts'
import { build } from '#test/helper.ts'

const { app, call } = await build(t)
const codes = await app.guestCodes()
const read = (text: string) => printedGuest(text, '2026-11-21', codes)

type Row = [title: string, text: string, expected: Partial<ScannedGuest>]

const ITALY = '100000100'
const LICENCE = {
  cognome: 'ROSSI',
  nome: 'BIANCA MARIA',
  data_nascita: '1964-12-30',
  tipo_documento: 'PATEN',
  numero_documento: 'U1A23B456C',
  stato_nascita: ITALY,
  comune_nascita: '412058091',
  provincia_nascita: 'RM'
}
const licence = ({ one = '1. ROSSI', two = '2. BIANCA MARIA', three = '3. 30/12/64 ROMA (RM)', rest = '' } = {}) =>
  `I PATENTE DI GUIDA REPUBBLICA ITALIANA\n${one}\n${two}\n${three}\n4a. 15/03/2019 4c. MIT-UCO\n4b. 30/12/2029\n` +
  `${rest}\n5. U1A23B456C\n7. B Rossi\n9. AM B`

const licences: Row[] = [
  ['a clean text', licence(), LICENCE],
  ['a year of four digits', licence({ three: '3. 30/12/1964 ROMA (RM)' }), LICENCE],
  ['misread numbers and commas', licence({
    one: '| l, ROSSI', two: 'Z. BIANCA MARIA', three: '3, 3O/l2/64 ROMA {RM)'
  }), LICENCE],
  ['numbers without dots', licence({
    one: '1 ROSSI.', two: '2 BIANCA MARIA —', three: '3 30.12.64 ROMA(RM)'
  }), LICENCE],
  ['misread letters of names', licence({ one: '1. R0SSI', two: '2. 8IANCA MAR1A' }), LICENCE],
  ['a misread title', licence().replace('PATENTE DI GUIDA', 'PATENTE D1 GU|DA'), LICENCE],
  ['a misread national number', licence().replace('U1A23B456C', 'UIA23B456C'), LICENCE],
  ['the number of a provincial office', licence().replace('U1A23B456C', 'RM123456SX').replace('MIT-UCO', 'MC-RM'), {
    ...LICENCE, numero_documento: 'RM1234565X', luogo_rilascio: '412058091'
  }],
  ['a tax code, which says the sex', licence({ rest: '4d. RSSBCM64T70H501X' }), { ...LICENCE, sesso: 'F' }],
  ['a tax code of another day', licence({ rest: '4d. RSSBCM64T71H501X' }), { ...LICENCE, sesso: '' }],
  ['a name with an apostrophe', licence({ one: '1. D’AMICO' }), { ...LICENCE, cognome: 'D’AMICO' }],
  ['a birth abroad', licence({ three: '3. 30/12/64 TIRANA (ALB)' }), {
    data_nascita: '1964-12-30', stato_nascita: '100000201'
  }]
]

const PAPER = {
  cognome: 'ROSSI',
  nome: 'BIANCA',
  data_nascita: '1964-12-30',
  cittadinanza: ITALY,
  tipo_documento: 'IDENT',
  numero_documento: 'AX1234567',
  luogo_rilascio: '412058091',
  stato_nascita: ITALY,
  comune_nascita: '408035033',
  provincia_nascita: 'RE'
}
const paper = ({
  number = 'N° AX 1234567',
  surname = 'Cognome ROSSI',
  name = 'Nome BIANCA',
  born = 'nato il 30/12/1964',
  from = 'a REGGIO NELL\'EMILIA ( RE )'
} = {}) => 'REPUBBLICA ITALIANA\nCOMUNE DI\nROMA\nCARTA D\'IDENTITÀ\n' +
  `${number}\nDI\nROSSI BIANCA\n${surname}\n${name}\n${born}\n(atto n. 123 p. 1 S. A )\n${from}\n` +
  'Cittadinanza ITALIANA\nResidenza ROMA\nVia Invento 1\nStato civile\nStatura 1,70'

const cards: Row[] = [
  ['a clean text', paper(), PAPER],
  ['dot leaders', paper({
    surname: 'Cognome......ROSSI.....', name: 'Nome .... BIANCA', born: 'nato il...30-12-1964'
  }), PAPER],
  ['misread labels', paper({ surname: 'C0gnome ROSSI', name: 'N0me: BIANCA', born: 'nata i1 3O.12.1964' }), PAPER],
  ['values below their labels', paper({ surname: 'Cognome\nROSSI', name: 'Nome\nBIANCA' }), PAPER],
  ['a misread number without blanks', paper({ number: 'Nr AXI234S67' }), PAPER],
  ['a birth place in two languages', paper({ from: 'a BOLZANO/BOZEN (BZ)' }), {
    ...PAPER, comune_nascita: '404021008', provincia_nascita: 'BZ'
  }],
  ['a birth abroad', paper({ from: 'a LIMA (PERU\')' }), { stato_nascita: '100000615' }],
  ['the front of an electronic card', [
    'REPUBBLICA ITALIANA', 'MINISTERO DELL\'INTERNO', 'CARTA DI IDENTITÀ / IDENTITY CARD', 'COMUNE DI/ MUNICIPALITY',
    'ROMA CA00000AA', 'COGNOME / SURNAME', 'ROSSI', 'NOME / NAME', 'BIANCA', 'LUOGO E DATA DI NASCITA',
    'PLACE AND DATE OF BIRTH', 'BOLZANO/BOZEN (BZ) 30.12.1964', 'SESSO STATURA CITTADINANZA', 'F 175 ITA',
    'EMISSIONE / ISSUING SCADENZA / EXPIRY', '15.03.2022 30.12.2032'
  ].join('\n'), {
    cognome: 'ROSSI',
    nome: 'BIANCA',
    sesso: 'F',
    data_nascita: '1964-12-30',
    cittadinanza: ITALY,
    tipo_documento: 'IDELE',
    numero_documento: 'CA00000AA',
    luogo_rilascio: '412058091',
    comune_nascita: '404021008'
  }]
]

for (const [kind, rows] of [['licence', licences], ['card', cards]] as const) {
  for (const [title, text, expected] of rows) {
    t.test(`a guest is proposed from the text of a ${kind}: ${title}`, async (t) => {
      const { ospite } = read(text)!
      t.match(ospite, expected)
      const filled = Object.entries(ospite).filter(([, value]) => typeof value === 'string' && value !== '')
      t.same([...ospite.proposti!].sort(), filled.map(([name]) => name).sort(), 'every field is a proposal')
      t.notOk(ospite.da_completare.some((name) => ospite.proposti!.includes(name)))
    })
  }
}

t.test('proposes no guest from other texts, and no field that is illegible', async (t) => {
  const others = [
    '', 'Comune di Bergamo', 'PATENTE DI GUIDA\nÖSTERREICH\n1. HUBER\n2. ANNA\n3. 01.02.1980 WIEN\n5. 12345678',
    'PASSAPORTO REPUBBLICA ITALIANA\nCognome ROSSI', licence({ one: '1. R?SS#I' })
  ]
  for (const text of others) t.equal(read(text), undefined, text)
  const { ospite } = read(licence({ three: '3. 31/02/64 ROMA (RM)' }).replace('U1A23B456C', 'U1A23'))!
  t.match(ospite, { data_nascita: '', numero_documento: '' })
  t.notOk('comune_nascita' in ospite)
  t.match(read(licence({ three: '3. 30/12/64 ROMA (MI)' }))!.ospite.da_completare, ['sesso'])
})

t.test('an expired document and a minor give a warning', async (t) => {
  const fields = (text: string) => read(text)!.avvisi.map(({ campo }) => campo)
  t.same(fields(licence()), ['cognome'])
  t.same(fields(licence().replace('30/12/2029', '30/12/2025')), ['cognome', 'expiryDate'])
  t.same(fields(licence({ three: '3. 30/12/09 ROMA (RM)' })), ['cognome', 'birthDate'])
})

const CARD = ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']
const places: Row[] = [
  ['two languages', 'BOLZANO/BOZEN (BZ) 30.12.1964', { comune_nascita: '404021008', provincia_nascita: 'BZ' }],
  ['an apostrophe', 'REGGIO NELL\'EMILIA (RE) 30.12.1964', { comune_nascita: '408035033' }],
  ['a lost apostrophe', '. REGGIO NELL EMILIA [RE) 3O.12.l964', { comune_nascita: '408035033' }],
  ['a code of a state', 'BUENOS AIRES (ARG) 30.12.1964', { stato_nascita: '100000602' }],
  ['the name of a state', 'BUCAREST (ROMANIA) 30.12.1964', { stato_nascita: '100000235' }],
  ['a state as the place', 'ROMANIA (EE) 30.12.1964', { stato_nascita: '100000235' }],
  ['the comune of issue', 'COMUNE DI / MUNICIPALITY\nREGGIO NELL\'EMILIA CA00000AA', { luogo_rilascio: '408035033' }],
  ['the comune of issue in German', 'COMUNE DI/GEMEINDE BOLZANO/BOZEN', { luogo_rilascio: '404021008' }],
  ['a misread comune of issue', 'COMUNE DI R0MA (RM)', { luogo_rilascio: '412058091' }]
]

for (const [title, text, expected] of places) {
  t.test(`the text of an electronic card proposes places: ${title}`, async (t) => {
    const { ospite, avvisi } = (await call('POST', '/api/mrz/parse', { lines: CARD, text })).json<ParseMrzResponse>()
    t.match(ospite, expected)
    t.ok(Object.keys(expected).every((name) => ospite.proposti!.includes(name as 'nome')))
    t.match(JSON.stringify(avvisi), /propost[oa] dal testo/)
    if (expected.stato_nascita !== undefined) {
      t.same(ospite.da_completare, ['luogo_rilascio'], 'a birth abroad needs no comune')
      t.notOk('comune_nascita' in ospite)
    }
  })
}
