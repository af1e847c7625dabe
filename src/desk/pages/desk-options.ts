import type { Country } from '#schemas/country.ts'
import type { Unit } from '#schemas/unit.ts'
import { isDay } from '#src/lib/time.ts'
import { fill, type Desk } from './desk-page.ts'
import type { Option } from './field-types.ts'

/** The languages of guests that a form offers. A booking may have any other language. */
const GUEST_LANGUAGES = [
  'IT', 'EN', 'DE', 'FR', 'ES', 'PT', 'NL', 'PL', 'CS', 'HU', 'RO', 'SV', 'DA', 'RU', 'UK', 'ZH', 'JA', 'AR'
]

const UNITS = '/api/v1/unita'

/** The days of a form, as typed, and the unit that the booking has. */
interface TypedStay { check_in?: string, check_out?: string, own?: number | null }

/** The units as options, in the order of the host. The text says if the unit is taken in a night of the stay. */
export async function unitOptions (desk: Desk, stay: TypedStay = {}): Promise<Option[]> {
  const [{ body: { data } }, free] = await Promise.all([
    desk.call<{ data: Unit[] }>({ method: 'GET', url: UNITS }), freeIds(desk, stay)
  ])
  const isTaken = (id: number) => free !== undefined && id !== stay.own && !free.has(id)
  return data.map(({ id, nome }) => ({
    value: String(id), label: isTaken(id) ? fill(desk.texts.takenUnit, nome) : nome
  }))
}

/** The units that are free in every night of a stay. Undefined when the days form no stay. */
async function freeIds (desk: Desk, { check_in: from = '', check_out: to = '' }: TypedStay) {
  if (!isDay(from) || !isDay(to) || from >= to) return undefined
  const { body: { data } } = await desk.call<{ data: Unit[] }>({
    method: 'GET', url: `${UNITS}/disponibilita?da=${from}&a=${to}`
  })
  return new Set(data.map(({ id }) => id))
}

/** The countries as options, with their names in the person's language. */
export async function countryOptions (desk: Desk): Promise<Option[]> {
  const { body: { data } } = await desk.call<{ data: Country[] }>({ method: 'GET', url: '/api/v1/paesi' })
  const names = new Intl.DisplayNames(desk.language, { type: 'region' })
  return data
    .map(({ id, iso2, nome }) => ({
      value: String(id), label: desk.language === 'it' ? nome : names.of(iso2) ?? nome
    }))
    .sort((a, b) => a.label.localeCompare(b.label, desk.language))
}

/** The name of a language in the language of the person. */
export function languageName ({ language }: Desk, code: string): string {
  return new Intl.DisplayNames(language, { type: 'language' }).of(code.toLowerCase()) ?? code
}

/** The languages of guests as options, e.g. `DE` with the label `tedesco`. */
export function languageOptions (desk: Desk): Option[] {
  return GUEST_LANGUAGES.map((code) => ({ value: code, label: languageName(desk, code) }))
}
