import { Type, type Static } from '@sinclair/typebox'
import { Closed, Nullable, OneOf, Upper } from './common.ts'
import { ImageText, JPEG_EXAMPLE } from './image.ts'
import { Avviso, ScannedGuest } from './scanning.ts'

/** The languages of OCR. */
const OCR_LANGUAGES = ['IT', 'EN', 'DE', 'FR'] as const
export type OcrLanguage = (typeof OCR_LANGUAGES)[number]

/** Each language adds the same processing time. */
const LANGUAGES_MAX = 2

export const OcrBody = Closed({
  image: ImageText,
  lingue: Type.Optional(Type.Array(Upper(OneOf(OCR_LANGUAGES)), {
    minItems: 1,
    maxItems: LANGUAGES_MAX,
    uniqueItems: true,
    default: ['IT'],
    description: 'In che lingue è il testo; ognuna richiede altrettanto tempo'
  })),
  solo_mrz: Type.Optional(Type.Boolean({ description: 'Cerca solo la zona a lettura ottica: `text` è vuoto' }))
}, { examples: [{ image: JPEG_EXAMPLE, solo_mrz: true }] })
export type OcrBody = Static<typeof OcrBody>

export const OcrResponse = Closed({
  text: Type.String({ description: 'Il testo; vuoto con solo_mrz' }),
  mrz: Nullable(Type.Array(Type.String(), { description: 'Le righe della zona, o null se non ce n’è' })),
  ospite: Type.Optional({
    ...ScannedGuest,
    description: 'Senza zona: i campi proposti dal testo di una patente o carta d’identità italiana, da controllare'
  }),
  avvisi: Type.Optional(Type.Array(Avviso))
}, {
  examples: [{
    text: 'REPUBBLICA ITALIANA\nCARTA DI IDENTITÀ\n',
    mrz: ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']
  }]
})
export type OcrResponse = Static<typeof OcrResponse>
