import { Type, type Static } from '@sinclair/typebox'
import { BookingId, Closed, Id, Instant, NotEmpty, Nullable, OneOf, Ref, Text, Upper } from './common.ts'
import { Name } from './guest.ts'
import { pagingOrWhole } from './paging.ts'
import { Paragraphs } from './paragraphs.ts'

const nome = Name(200, { examples: ['Anna Bianchi'] })
const lingua = Upper(Type.String({
  pattern: '^[A-Za-z]{2}$',
  description: 'Due lettere: IT, EN, DE, FR; di un’altra lingua i testi sono in inglese',
  examples: ['IT']
}))

const paragraph = (which: string) =>
  Type.Optional({ ...Paragraphs(2000), description: `Il ${which} paragrafo, al posto di quello solito` })

/** Texts that replace the default ones. Whitespace means no text. */
export const LetterWishes = Closed({
  nome_ospite: Type.Optional(Text(200, { description: 'Se manca, il nome_ospite del corpo' })),
  greeting: Type.Optional(Text(300, { description: 'Il saluto' })),
  text1: paragraph('primo'),
  text2: paragraph('secondo'),
  text3: paragraph('terzo'),
  enjoy_text: Type.Optional(Text(100, { description: 'L’augurio nel riquadro colorato' })),
  codice: Type.Optional(Type.Integer({
    minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Se manca, l’idf_gen della prenotazione'
  }))
})

export const LetterCreation = Closed(
  { prenotazione_id: Id, nome_ospite: nome, lingua, template_data: Type.Optional(LetterWishes) },
  {
    examples: [{
      prenotazione_id: 1, nome_ospite: 'Anna Bianchi', lingua: 'IT', template_data: { enjoy_text: 'Buon soggiorno!' }
    }]
  }
)
export type LetterCreation = Static<typeof LetterCreation>

const EXAMPLE = {
  id: 1,
  prenotazione_id: 1,
  nome_ospite: 'Anna Bianchi',
  lingua: 'IT',
  created_at: '2026-11-23T09:30:00.000Z',
  url: 'https://locanda.example/api/lettere-benvenuto/1/pdf'
}

export const Letter = Closed({
  id: Id,
  prenotazione_id: Id,
  nome_ospite: Type.String(),
  lingua: Type.String(),
  created_at: Instant,
  url: Type.String({ description: 'Dove si scarica il PDF' })
}, { $id: 'LetteraBenvenuto', examples: [EXAMPLE] })
export type Letter = Static<typeof Letter>

export const LetterParams = Closed({ prenotazioneId: BookingId })
export const LetterQuery = Closed(pagingOrWhole)
export const LetterList = Closed({ data: Type.Array(Ref(Letter)) })

export const LetterPreview = Closed({
  lingua: Type.Optional(NotEmpty(OneOf(['it', 'en', 'de', 'fr'], { description: '`it` se manca' })))
})

export const LetterFound = Closed(
  // Null or a letter: see `Nullable` about unions.
  { exists: Type.Boolean(), data: Nullable(Type.Object(Letter.properties, { additionalProperties: false })) },
  { examples: [{ exists: true, data: EXAMPLE }, { exists: false, data: null }] }
)

export const LetterMade = Closed(
  { success: Type.Boolean(), data: Ref(Letter), message: Type.String() },
  { examples: [{ success: true, data: EXAMPLE, message: 'Lettera di benvenuto creata' }] }
)

export const LetterRemoved = Closed(
  { success: Type.Boolean(), message: Type.String() },
  { examples: [{ success: true, message: 'Lettera di benvenuto eliminata' }] }
)
