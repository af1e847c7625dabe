import t from 'tap'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { PROVINCE } from '#src/alloggiati/tables/provinces.ts'
import { createTables } from '#src/alloggiati/tables/tables.ts'

const data = bundledData()
const tables = createTables(data)

t.test('the snapshot is whole: comuni in force and ceased, states, documents, guest types', async (t) => {
  t.equal(data.comuni.length, 11_294)
  t.equal(data.comuni.filter(({ cessato_il: end }) => end === null).length, 7898)
  t.equal(data.stati.length, 236)
  t.equal(data.documenti.length, 95)
  t.same(data.tipi_alloggiato.map(({ codice }) => codice), ['16', '17', '18', '19', '20'])
  t.ok(data.comuni.every(({ codice, provincia }) => /^4\d{8}$/.test(codice) && /^[A-Z]{2}$/.test(provincia)))
  t.ok(data.stati.every(({ codice }) => /^1\d{8}$/.test(codice)))
})

t.test('a code is found with all that the table says of it', async (t) => {
  t.same(tables.comune('412058091'), { codice: '412058091', descrizione: 'ROMA', provincia: 'RM', cessato_il: null })
  t.same(tables.comune('408040012')?.cessato_il, '1992-04-15')
  t.match(tables.stato('100000216'), { descrizione: 'GERMANIA', iso2: 'DE', iso3: 'DEU' })
  t.match(tables.stato('100000210'), { descrizione: 'CECOSLOVACCHIA', iso2: null, cessato_il: '1993-01-01' })
  t.equal(tables.documento('IDELE')?.descrizione, "CARTA IDENTITA' ELETTRONICA")
  t.equal(tables.tipoAlloggiato('17')?.descrizione, 'CAPO FAMIGLIA')
  for (const unknown of ['', '999999999', '__proto__', 'constructor']) {
    t.equal(tables.comune(unknown), undefined)
    t.equal(tables.stato(unknown), undefined)
    t.equal(tables.provincia(unknown), undefined)
  }
})

t.test('six digits are looked up: the ISTAT code of today can be that of a ceased row', async (t) => {
  t.same(tables.comuniByShortCode('058091').map(({ codice }) => codice), ['412058091'])
  t.match(
    tables.comuniByShortCode('040012'),
    [{ codice: '408040012', provincia: 'FO' }],
    "Forlì's row is 408140012 since 1992"
  )
  t.same(tables.comuniByShortCode('000000'), [])
  const twins = createTables({
    ...data,
    comuni: [
      { codice: '401999001', descrizione: 'PROVA', provincia: 'TO', cessato_il: null },
      { codice: '402999001', descrizione: 'PROVA', provincia: 'AO', cessato_il: null }
    ]
  })
  t.equal(twins.comuniByShortCode('999001').length, 2)
})

t.test('every province sign of the table has an Italian name, and those of the past are marked', async (t) => {
  t.same(tables.search('province').map(({ codice }) => codice), Object.keys(PROVINCE).sort())
  t.same(
    tables
      .search('province')
      .filter(({ cessata }) => cessata)
      .map(({ codice }) => codice),
    ['FO', 'FU', 'PL', 'PS', 'ZA']
  )
  t.equal(tables.provincia('FC')?.descrizione, 'Forlì-Cesena')
})

t.test('a sign that is newer than this program is served under its own letters', async (t) => {
  const newer = createTables({
    ...data,
    comuni: [{ codice: '420999001', descrizione: 'PROVA', provincia: 'QQ', cessato_il: null }]
  })
  t.same(newer.provincia('QQ'), { codice: 'QQ', descrizione: 'QQ', cessata: false })
})

t.test('the version follows the content, not the order of calls or the source', async (t) => {
  t.match(tables.version, /^[0-9a-f]{64}$/)
  t.equal(createTables({ ...bundledData(), fonte: 'servizio' }).version, tables.version)
  t.not(createTables({ ...data, documenti: data.documenti.slice(1) }).version, tables.version)
})

t.test('a search puts texts that begin with the query first, then places in force, then the alphabet', async (t) => {
  const names = (query: string, limit?: number) =>
    tables.search('comuni', query, limit).map(({ descrizione }) => descrizione)
  t.equal(names('roma')[0], 'ROMA')
  t.ok(names('terme').indexOf('TERME VIGLIATORE') < names('terme').indexOf('ABANO TERME'))
  const forli = tables.search('comuni', "FORLI'")
  t.equal(forli[0]?.codice, '408140012')
  t.equal(forli[1]?.codice, '408040012', 'the same name out of force')
  t.ok(
    forli.findIndex(({ codice }) => codice === '414094020') < forli.findIndex(({ codice }) => codice === '414070920')
  )
  t.equal(names('a', 7).length, 7)
})

t.test('a search does not care for case, accents, apostrophes or brackets', async (t) => {
  const first = (query: string) => tables.search('comuni', query)[0]?.descrizione
  t.equal(first('forlì'), "FORLI'")
  t.equal(first('San Donà di Piave'), "SAN DONA' DI PIAVE")
  t.equal(first('  sant’angelo lodigiano'), "SANT'ANGELO LODIGIANO")
  t.equal(first('Roma (RM)'), 'ROMA')
  t.equal(tables.search('paesi', 'germ')[0]?.codice, '100000216')
  t.equal(tables.search('comuni', '412058091')[0]?.descrizione, 'ROMA', 'a code is a text to search too')
  t.same(tables.search('comuni', 'zzzz'), [])
})

t.test('a search for nothing but signs gives the whole list', async (t) => {
  t.equal(tables.search('paesi', ' - ').length, 236)
})
