import type { Static } from '@sinclair/typebox'
import type { establishmentFields } from '#schemas/establishment.ts'
import type { LetterWishes } from '#schemas/letter.ts'
import type { Day } from '#src/lib/time.ts'
import { languageOf, type Language } from '../language/formats.ts'
import texts from './letter-texts.json' with { type: 'json' }

type Optional<T> = { [K in keyof T]?: T[K] | undefined }

/** Who writes the letter. What is missing is left out of it. */
type Establishment = Optional<Record<keyof typeof establishmentFields, string | null>>

export interface LetterRequest {
  nome_ospite: string
  /** Two letters; of another language than the four the texts are English. */
  lingua: string
  struttura: Establishment
  data: Day
  soggiorno?: { check_in: Day, check_out: Day } | undefined
  codice?: string | null | undefined
  /** What a host says otherwise than we would. */
  template_data?: Optional<Static<typeof LetterWishes>> | undefined
  hasLogo?: boolean | undefined
}

/**
 * The texts of a letter where the host gives none; `{…}` is filled in. `dalle` and `entro` say from which hour the
 * guest may come, and by which they leave.
 */
const LETTER_TEXTS: Record<Language, typeof texts.it> = texts

/** Lines of the house rules that are kept on one page; more of them run on to the next one. */
const LINES_TOGETHER = 20

/** The data of the template of the welcome letter, and its language. A text of only blanks counts as none. */
export function letterData (request: LetterRequest): { language: Language, data: Record<string, unknown> } {
  const { struttura, soggiorno, template_data: wishes = {} } = request
  const language = languageOf(request.lingua)
  const { greeting, text1, text2, text3, enjoy_text: enjoyText, ...parole } = LETTER_TEXTS[language]
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

const ESTABLISHMENT_FIELDS = [
  'nome', 'motto', 'luogo', 'telefono', 'cin', 'firma', 'colore', 'colazione', 'regole'
] as const
const FOOTER_FIELDS = ['nome', 'indirizzo', 'telefono', 'email'] as const
/** Ends in a left-to-right mark: behind an Arabic name the groups of a number would be turned round (UAX #9). */
const BETWEEN = ' · \u200E'

/** What is read on a colour `#rrggbb`: black on a light one, by the brightness that the eye sees (ITU-R BT.601). */
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
