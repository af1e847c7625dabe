import t from 'tap'
import type { Country } from '#schemas/country.ts'
import { build } from '#test/helper.ts'

const { call } = await build(t)
const response = await call('GET', '/api/v1/paesi')
const countries = response.json<{ data: Country[] }>().data

t.test('380 is Italy, by its Italian name and its ISO codes', async (t) => {
  t.equal(response.statusCode, 200)
  t.same(countries.find(({ id }) => id === 380), { id: 380, nome: 'Italia', iso2: 'IT', iso3: 'ITA' })
})

t.test('the codes are the numeric ones of ISO 3166-1', async (t) => {
  const known = { Francia: 250, Germania: 276, Spagna: 724, Svizzera: 756, Afghanistan: 4, 'San Marino': 674 }
  for (const [nome, id] of Object.entries(known)) {
    t.equal(countries.find((country) => country.nome === nome)?.id, id, nome)
  }
})

t.test('all of the standard\'s countries are there, each once and complete', async (t) => {
  t.ok(countries.length >= 249)
  for (const name of ['id', 'nome', 'iso2', 'iso3'] as const) {
    t.equal(new Set(countries.map((country) => country[name])).size, countries.length, name)
  }
  t.ok(
    countries.every(
      ({ id, nome, iso2, iso3 }) =>
        id >= 1 && id <= 999 && nome !== '' && /^[A-Z]{2}$/.test(iso2) && /^[A-Z]{3}$/.test(iso3)
    )
  )
})

t.test('they are in the alphabetical order of their names', async (t) => {
  const names = countries.map(({ nome }) => nome)
  t.same(names, [...names].sort(new Intl.Collator('it').compare))
})
