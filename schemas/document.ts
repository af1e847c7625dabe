import { Type, type Static } from '@sinclair/typebox'
import { BookingId, Closed, OneOf } from './common.ts'
import {
  IMAGE_BYTES_MAX, IMAGE_FORMATS, IMAGE_TYPES, ImageText, JPEG_EXAMPLE, SOURCE_EXTENSIONS, SOURCE_WORDS
} from './image.ts'
import { SIDES } from './storage.ts'

/** Index in the booking's guest list, up to the limit of `saveOspiti`. */
const guestIndex = Type.Integer({
  minimum: 0,
  maximum: 999,
  description: 'Quale ospite della prenotazione, da 0, nell’ordine in cui sono salvati',
  examples: [0]
})
const side = OneOf(SIDES, { description: 'Il lato del documento: `front` il fronte, `back` il retro' })

export const DocumentUpload = Closed(
  {
    booking_id: BookingId,
    guest_idx: guestIndex,
    side,
    base64Image: ImageText,
    ext: OneOf(SOURCE_EXTENSIONS, {
      description: 'Il formato che si invia; HEIC, AVIF, TIFF e PDF si salvano come JPEG'
    })
  },
  { examples: [{ booking_id: 1, guest_idx: 0, side: 'front', base64Image: JPEG_EXAMPLE, ext: 'jpg' }] }
)
export type DocumentUpload = Static<typeof DocumentUpload>

/** The bytes of an image. JSON Schema has no type for them. */
const ImageBytes = Type.Unsafe<Buffer<ArrayBuffer>>({
  contentMediaType: 'application/octet-stream',
  description: `I byte dell’immagine: ${SOURCE_WORDS}, di al massimo ${IMAGE_BYTES_MAX / 1024 ** 2} MiB`
})

export const DocumentForm = Closed(
  {
    booking_id: BookingId,
    guest_idx: guestIndex,
    side,
    file: ImageBytes,
    ext: Type.Optional(OneOf(SOURCE_EXTENSIONS, { description: 'Il formato che si invia, se va controllato' }))
  },
  {
    description: 'Un modulo: `curl -F booking_id=1 -F guest_idx=0 -F side=front -F file=@fronte.jpg …`',
    examples: [{ booking_id: 1, guest_idx: 0, side: 'front', file: '…' }]
  }
)
export type DocumentForm = Static<typeof DocumentForm>

/** The query of an upload whose body is the image. In the other bodies these are fields. */
export const DocumentUploadQuery = Type.Partial(Closed({ booking_id: BookingId, guest_idx: guestIndex, side }))
export type DocumentUploadQuery = Static<typeof DocumentUploadQuery>

/** The three bodies of an upload. */
export const DocumentUploadBody = {
  content: {
    'application/json': { schema: DocumentUpload },
    'multipart/form-data': { schema: DocumentForm },
    ...Object.fromEntries(IMAGE_TYPES.map((type) => [type, { schema: ImageBytes }]))
  }
}

export const DocumentUploadResponse = Closed(
  { success: Type.Boolean(), message: Type.String(), path: Type.String(), url: Type.String() },
  {
    examples: [{
      success: true,
      message: 'Immagine salvata',
      path: 'documents/1/0/front.jpg',
      url: 'https://locanda.example/api/documents/1/0/front'
    }]
  }
)

export const DocumentParams = Closed({ booking_id: BookingId, guest_idx: guestIndex, side })
export type DocumentParams = Static<typeof DocumentParams>

const content = Object.fromEntries(Object.values(IMAGE_FORMATS).map(({ contentType }) => [
  contentType, { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) }
]))
export const DocumentImage = { description: 'L’immagine', content }
export const DocumentImagePart = { description: 'La parte dell’immagine chiesta con Range', content }
