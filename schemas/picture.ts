import { Type, type Static } from '@sinclair/typebox'
import { Closed } from './common.ts'
import { Uuid } from './auth/uuid.ts'
import { SOURCE_WORDS } from './image.ts'

/** Maximum bytes of an uploaded profile picture, else 413. */
export const PICTURE_BYTES_MAX = 5 * 1024 * 1024
/** Maximum longer side of the stored picture in pixels. */
export const PICTURE_SIDE_MAX = 512

/** The form fields. JSON Schema has no type for the bytes of a file. */
export const PictureForm = Closed(
  {
    file: Type.Unsafe<Buffer<ArrayBuffer>>({
      contentMediaType: 'application/octet-stream',
      description: `L’immagine, con filename: ${SOURCE_WORDS}. Si riconosce dai byte. Al massimo ` +
        `${PICTURE_BYTES_MAX / 1024 ** 2} MiB`
    }),
    userId: { ...Uuid, description: 'L’id dell’operatore' }
  },
  {
    description: 'Un modulo con questi campi e nessun altro: `curl -F file=@anna.jpg -F userId=6f0f4c5e-… …`',
    examples: [{ file: '…', userId: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11' }]
  }
)
export type PictureForm = Static<typeof PictureForm>

export const PictureResponse = Closed(
  {
    success: Type.Boolean(),
    message: Type.String(),
    path: Type.String(),
    url: Type.String(),
    status: Type.Integer()
  },
  {
    examples: [{
      success: true,
      message: 'Immagine del profilo salvata',
      path: 'avatars/6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11.jpg',
      url: 'https://locanda.example/api/storage/avatars/6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11.jpg',
      status: 200
    }]
  }
)
