import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id } from './common.ts'

/** A country by its ISO 3166-1 numeric code, as in `paese_id`. */
export const Country = Closed({
  id: Id,
  nome: Type.String(),
  iso2: Type.String(),
  iso3: Type.String()
}, { $id: 'Paese' })
export type Country = Static<typeof Country>

export const CountryList = Closed(
  { data: Type.Array(Country) },
  { examples: [{ data: [{ id: 380, nome: 'Italia', iso2: 'IT', iso3: 'ITA' }] }] }
)
