import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Nullable, OneOf, Ref } from './common.ts'
import { ImageText, JPEG_EXAMPLE } from './image.ts'
import { EXAMPLE_GUEST, GuestIndex, StoredGuest } from './scan.ts'
import { Avviso, BIRTH_PLACE_FIELDS, SCANNED_FIELDS } from './scanning.ts'
import { Segnalazione } from './schedina.ts'
import { SIDES } from './storage.ts'

/* The photo of a document that becomes a guest. */

export const PhotoBody = Closed({
  image: ImageText,
  guest_idx: GuestIndex,
  side: Type.Optional(OneOf(SIDES, { default: 'front', description: 'Il lato fotografato' }))
}, { examples: [{ image: JPEG_EXAMPLE, guest_idx: 0 }] })
export type PhotoBody = Static<typeof PhotoBody>

const PHOTO_FIELDS = [...SCANNED_FIELDS, ...BIRTH_PLACE_FIELDS] as const
export type PhotoField = (typeof PHOTO_FIELDS)[number]

const fields = (description: string) => Type.Array(OneOf(PHOTO_FIELDS), { description })

export const PhotoResponse = Closed({
  data: Closed({
    prenotazione_id: Id,
    guest_idx: Type.Integer(),
    path: Type.String({ description: 'L’immagine salvata, come la dà `documents/upload`' }),
    ospite: StoredGuest,
    valid: Nullable(Type.Boolean({
      description: 'Le cifre di controllo della zona sono giuste, e si vede ogni carattere; null se non c’è una zona'
    })),
    letti: fields('Campi salvati dalla zona'),
    proposti: fields('Campi salvati come proposta: da controllare'),
    da_completare: fields('Campi che mancano ancora, e che il documento non dice'),
    errors: Type.Array(Ref(Segnalazione), { description: 'Quello che impedirebbe ancora l’invio di questo ospite' }),
    warnings: Type.Array(Ref(Segnalazione)),
    avvisi: Type.Array(Avviso)
  }),
  status: Type.Integer()
}, {
  examples: [{
    data: {
      prenotazione_id: 1,
      guest_idx: 0,
      path: 'documents/1/0/front.jpg',
      ospite: EXAMPLE_GUEST,
      valid: true,
      letti: ['nome', 'cognome', 'sesso', 'data_nascita', 'cittadinanza', 'tipo_documento', 'numero_documento'],
      proposti: [],
      da_completare: ['luogo_rilascio', 'stato_nascita', 'comune_nascita', 'provincia_nascita'],
      errors: [{ ospite: 0, campo: 'luogo_rilascio', messaggio: 'Manca il luogo di rilascio del documento' }],
      warnings: [],
      avvisi: []
    },
    status: 200
  }]
})
export type PhotoData = Static<typeof PhotoResponse>['data']
