import { Type, type Static } from '@sinclair/typebox'
import { Closed, Nullable, OneOf, Upper } from './common.ts'
import { ImageText, JPEG_EXAMPLE } from './image.ts'
import { Avviso, Leggibilita, LEGIBLE_FIELDS, ParsedMrz, PARSED_EXAMPLE, ScannedGuest } from './scanning.ts'

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

const LINES = ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']

/** A zone in the image, with the lines as `mrz/parse` takes them. */
const FoundZone = Closed({
  lines: Type.Array(Type.String()),
  parsed: ParsedMrz,
  leggibilita: Leggibilita,
  avvisi: Type.Array(Avviso)
})

export const OcrResponse = Closed({
  text: Type.String({ description: 'Il testo; vuoto con solo_mrz' }),
  mrz: Nullable(Type.Array(Type.String(), {
    description: 'Le righe della prima zona. Null se non ce n’è, o se le cifre di controllo sono giuste ma ' +
      'la foto non mostra bene tutti i caratteri: allora le righe stanno solo in `zone`'
  })),
  zone: Type.Array(FoundZone, { description: 'Le zone di tutti i documenti della foto' }),
  ospite: Type.Optional({
    ...ScannedGuest,
    description: 'Senza zona: i campi proposti dal testo di una patente o carta d’identità italiana, da controllare'
  }),
  avvisi: Type.Array(Avviso, { description: 'Perché fotografare di nuovo, e quanti documenti ci sono' })
}, {
  examples: [{
    text: 'REPUBBLICA ITALIANA\nCARTA DI IDENTITÀ\n',
    mrz: LINES,
    zone: [{
      lines: LINES,
      parsed: PARSED_EXAMPLE,
      leggibilita: Object.fromEntries(LEGIBLE_FIELDS.map((name) => [name, 'buona'])),
      avvisi: [{ campo: 'expiryDate', messaggio: 'Il documento è scaduto il 30/12/2022' }]
    }],
    avvisi: []
  }]
})
export type OcrResponse = Static<typeof OcrResponse>
