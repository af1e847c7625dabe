import type { Static } from '@sinclair/typebox'
import type { establishmentFields, HouseTexts } from '#schemas/establishment.ts'
import type { LetterWishes } from '#schemas/letter.ts'
import type { Day } from '#src/lib/time.ts'
import { languageOf, type Language } from '../language/formats.ts'
import texts from './letter-texts.json' with { type: 'json' }

type Optional<T> = { [K in keyof T]?: T[K] | undefined }

/** The establishment that sends the letter. Missing fields are left out. */
type Establishment = Optional<Record<keyof typeof establishmentFields, string | null>> & {
  testi?: HouseTexts | null | undefined
}

export interface LetterRequest {
  nome_ospite: string
  /** A two-letter code. If the language is none of the four, texts are English. */
  lingua: string
  struttura: Establishment
  data: Day
  soggiorno?: { check_in: Day, check_out: Day } | undefined
  /** The number of guests: Italian addresses one guest in the singular. */
  ospiti?: number | undefined
  codice?: string | null | undefined
  /** The host's own texts, which replace the defaults. */
  template_data?: Optional<Static<typeof LetterWishes>> | undefined
  hasLogo?: boolean | undefined
}

/**
 * Default texts. `{…}` is filled in. `dalle` and `entro` are the phrases for the check-in and check-out hours. `uno`
 * has the texts for one guest.
 */
const LETTER_TEXTS: Record<Language, typeof texts.en & { uno?: Partial<typeof texts.en> }> = texts

/** Maximum lines of house rules that stay together on one page. Longer rules may be split. */
const LINES_TOGETHER = 20

/** Builds the data of the welcome letter's template, and its language. Blank texts are treated as missing. */
export function letterData (request: LetterRequest): { language: Language, data: Record<string, unknown> } {
  const { soggiorno, template_data: wishes = {} } = request
  const language = languageOf(request.lingua)
  const struttura = { ...request.struttura, ...request.struttura.testi?.[language] }
  const { greeting, text1, text2, text3, enjoy_text: enjoyText, ...parole } = usualTexts(language, request.ospiti)
  const nome = wished(wishes.nome_ospite) ?? request.nome_ospite
  const wordings = {
    saluto: [wishes.greeting, greeting.replace('{nome}', () => nome)],
    testo1: [wishes.text1, text1],
    testo2: [wishes.text2, text2],
    testo3: [wishes.text3, text3],
    augurio: [wishes.enjoy_text, enjoyText]
  }
  return {
    language,
    data: {
      parole,
      nome,
      struttura: Object.fromEntries(ESTABLISHMENT_FIELDS.map((field) => [field, wished(struttura[field]) ?? null])),
      logo: request.hasLogo ?? false,
      regole_brevi: (struttura.regole ?? '').split('\n').length <= LINES_TOGETHER,
      inchiostro: inkOn(struttura.colore),
      data: request.data,
      ...Object.fromEntries(Object.entries(wordings).map(([name, [wish, usual]]) => [name, wished(wish) ?? usual])),
      codice: wishes.codice ?? wished(request.codice) ?? null,
      soggiorno: { arrivo: soggiorno?.check_in ?? null, partenza: soggiorno?.check_out ?? null },
      ora: {
        arrivo: hour(parole.dalle, struttura.ora_check_in), partenza: hour(parole.entro, struttura.ora_check_out)
      },
      wifi: { rete: wished(struttura.wifi_rete) ?? null, password: wished(struttura.wifi_password) ?? null },
      piede: FOOTER_FIELDS.map((field) => wished(struttura[field])).filter((text) => text !== undefined).join(BETWEEN)
    }
  }
}

function usualTexts (language: Language, guests: number | undefined) {
  const { uno = {}, ...several } = LETTER_TEXTS[language]
  return guests === 1 ? { ...several, ...uno } : several
}

const ESTABLISHMENT_FIELDS = [
  'nome', 'motto', 'luogo', 'telefono', 'cin', 'firma', 'colore', 'colazione', 'regole'
] as const
const FOOTER_FIELDS = ['nome', 'indirizzo', 'telefono', 'email'] as const
/** A separator with a left-to-right mark. After an Arabic name, digit groups would be reordered (UAX #9). */
const BETWEEN = ' · \u200E'

/** The readable text colour on `#rrggbb`, by perceived brightness (ITU-R BT.601). */
function inkOn (color: string | null | undefined): 'black' | 'white' {
  const [red, green, blue] = (/^#(..)(..)(..)$/.exec(color ?? '') ?? []).slice(1).map((part) => parseInt(part, 16))
  return 0.299 * (red ?? 0) + 0.587 * (green ?? 0) + 0.114 * (blue ?? 0) > 150 ? 'black' : 'white'
}

function hour (words: string, hour: string | null | undefined): string | null {
  const said = wished(hour)
  return said === undefined ? null : words.replace('{ora}', () => said)
}

function wished (text: string | null | undefined): string | undefined {
  return text === null || text === undefined || text.trim() === '' ? undefined : text
}
