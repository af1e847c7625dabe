import { Ajv } from 'ajv'
import t from 'tap'
import { Codice, Codici, CodiciQuery } from '#schemas/codici.ts'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { codici } from '#src/alloggiati/tables/codici.ts'
import { searchKey } from '#src/alloggiati/tables/search.ts'
import { commonNames } from '#src/alloggiati/tables/state-names.ts'
import { createTables } from '#src/alloggiati/tables/tables.ts'

const tables = createTables(bundledData())
const ajv = new Ajv({ schemas: [Codice] })

t.test('without a query every list is given whole, in the shape of its schema', async (t) => {
  const answer = codici(tables)
  t.ok(ajv.validate(Codici, answer), ajv.errorsText())
  t.equal(answer.comuni.length, 11_294)
  t.equal(answer.paesi.length, 236)
  t.equal(answer.tipi_documento.length, 95)
  t.equal(answer.province.length, 111)
  t.equal(answer.tipi_alloggiato.length, 5)
})

t.test('a comune is described with its province, a ceased place with its last day', async (t) => {
  const described = (list: Codice[], code: string) => list.find(({ codice }) => codice === code)?.descrizione
  const { comuni, paesi, province } = codici(tables)
  t.equal(described(comuni, '412058091'), 'ROMA (RM)')
  t.equal(described(comuni, '408040012'), "FORLI' (FO) (cessato il 15/04/1992)")
  t.equal(described(paesi, '100000210'), 'CECOSLOVACCHIA (cessato il 01/01/1993)')
  t.equal(described(paesi, '100000100'), 'ITALIA')
  t.equal(described(province, 'RM'), 'Roma')
  t.equal(described(province, 'FO'), 'Forlì (cessata)')
})

t.test('a query searches every list, a limit holds for each', async (t) => {
  const answer = codici(tables, { q: 'capo', limit: 2 })
  t.ok(ajv.validate(Codici, answer))
  t.same(answer.tipi_alloggiato.map(({ codice }) => codice), ['17', '18'])
  t.same(answer.paesi, [{ codice: '100000413', descrizione: 'CAPO VERDE' }])
  t.equal(answer.comuni.length, 2)
  t.same(codici(tables, { limit: 1 }).comuni.length, 1)
})

t.test('a state is found first by each of its ISO codes, and by the names that people use', async (t) => {
  const first = (q: string) => codici(tables, { q }).paesi[0]?.descrizione
  for (const query of ['DE', 'deu', '276']) t.equal(first(query), 'GERMANIA', query)
  for (const [query, name] of [
    ['RUSSIA', 'FEDERAZIONE RUSSA'],
    ['Olanda', 'PAESI BASSI'],
    ['USA', "STATI UNITI D'AMERICA"],
    ['840', "STATI UNITI D'AMERICA"],
    ['inghilterra', 'REGNO UNITO'],
    ['Corea del Sud', 'COREA DEL SUD'],
    ['Côte d’Ivoire', "COSTA D'AVORIO"],
    ['Macedonia', 'MACEDONIA DEL NORD'],
    ['España', 'SPAGNA'],
    ['ital', 'ITALIA'],
    ['olan', 'PAESI BASSI']
  ] as const) t.equal(first(query), name, query)
})

t.test('every common name is that of one state in force, and adds to what the table finds', async (t) => {
  const { stati } = bundledData()
  const byTable = createTables({ ...bundledData(), stati: stati.map((row) => ({ ...row, iso2: null, iso3: null })) })
  for (const state of stati) {
    for (const name of commonNames(state)) {
      t.same(tables.search('paesi', name, 1), [state], name)
      t.equal(state.cessato_il, null, name)
      t.equal(searchKey(name), name, 'written as searches compare it')
      t.not(byTable.search('paesi', name, 1)[0]?.codice, state.codice, name)
    }
  }
})

t.test('the query is bounded', async (t) => {
  t.ok(ajv.validate(CodiciQuery, { q: 'a'.repeat(100), limit: 1000 }))
  for (const query of [{ q: 'a'.repeat(101) }, { limit: 0 }, { limit: 1001 }, { altro: 'x' }]) {
    t.notOk(ajv.validate(CodiciQuery, query))
  }
})
