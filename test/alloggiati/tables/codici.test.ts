import { Ajv } from 'ajv'
import t from 'tap'
import { Codice, Codici, CodiciQuery } from '#schemas/codici.ts'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { codici } from '#src/alloggiati/tables/codici.ts'
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

t.test('the query is bounded', async (t) => {
  t.ok(ajv.validate(CodiciQuery, { q: 'a'.repeat(100), limit: 1000 }))
  for (const query of [{ q: 'a'.repeat(101) }, { limit: 0 }, { limit: 1001 }, { altro: 'x' }]) {
    t.notOk(ajv.validate(CodiciQuery, query))
  }
})
