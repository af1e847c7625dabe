import { Type, type Static } from '@sinclair/typebox'
import { Closed } from './common.ts'

const total = Type.Integer({ minimum: 0 })

/** The current day in Rome: three facts. `nextGuest` is empty without an expected arrival. */
export const WidgetData = Closed({
  todayArrivals: total,
  todayDepartures: total,
  nextGuest: Type.String()
}, { examples: [{ todayArrivals: 2, todayDepartures: 1, nextGuest: 'Giulia Bianchi' }] })
export type WidgetData = Static<typeof WidgetData>

/** More than all existing countries. */
const COUNTRIES_MAX = 250

export const TopCountriesQuery = Closed({
  limit: Type.Integer({ minimum: 1, maximum: COUNTRIES_MAX, default: 10, description: 'Quanti paesi, dal primo' })
})

export const TopCountries = Type.Array(
  Closed({ country: Type.String(), count: Type.Integer({ minimum: 1 }) }),
  { maxItems: COUNTRIES_MAX, examples: [[{ country: 'Germania', count: 12 }, { country: 'Italia', count: 7 }]] }
)
export type TopCountries = Static<typeof TopCountries>
