import type { ErrorBody } from '#schemas/common.ts'
import type { PhotoData } from '#schemas/photo.ts'
import { SIDES, type Side } from '#schemas/storage.ts'
import { inWords } from '../desk-fields.ts'
import { refusedAttempt } from '../desk-form.ts'
import { refusalText } from '../desk-layout.ts'
import type { Desk } from '../desk-page.ts'
import { scanTexts } from '../texts/scan-texts.ts'

/** The photo of a guest's document. */
interface Photo {
  booking: number
  guest: number
  side: Side
  file: Buffer
  /** Stores the photo without reading it. */
  isOnly: boolean
  headers?: Readonly<Record<string, string>>
}

/**
 * Reads a photo, and saves its guest and the image. With `isOnly` it only stores the image.
 * @returns the fields that were read, or undefined when only the image was stored
 * @throws Refusal, RedirectError
 */
export async function sendPhoto (
  desk: Desk, { booking, guest, side, file, isOnly, headers = {} }: Photo
): Promise<PhotoData | undefined> {
  const image = file.toString('base64')
  if (isOnly) {
    await desk.call({
      method: 'POST',
      url: '/api/documents/upload',
      payload: { booking_id: booking, guest_idx: guest, side, base64Image: image, ext: extensionOf(file) },
      headers
    })
    return undefined
  }
  const { body } = await desk.call<{ data: PhotoData }>({
    method: 'POST',
    url: `/api/v1/prenotazioni/${booking}/scansione`,
    payload: { image, guest_idx: guest, side },
    headers
  })
  return body.data
}

/** The side that a form names. */
export function sideOf (value: string | undefined): Side {
  return SIDES.find((each) => each === value) ?? 'front'
}

/** The reason of a refusal, in words for the photo instead of the field of the API. */
export function photoFault (desk: Pick<Desk, 'language'>, refusal: ErrorBody): string {
  const { errors } = refusedAttempt({}, refusal)
  const fault = errors?.get('image') ?? errors?.get('base64Image')
  return fault === undefined
    ? refusalText(desk, refusal)
    : `${scanTexts[desk.language].photo}: ${inWords(desk, fault.messaggio, [])}`
}

/** The extension that the first bytes of a file suggest. The route of the API validates the file. */
function extensionOf (file: Buffer): string {
  const start = file.toString('latin1', 0, 12)
  if (start.startsWith('\x89PNG')) return 'png'
  if (start.startsWith('RIFF')) return 'webp'
  if (/^(?:II\*|MM\0)/.test(start)) return 'tif'
  if (start.slice(4, 8) === 'ftyp') return start.slice(8).startsWith('avif') ? 'avif' : 'heic'
  return file.subarray(0, 1024).includes('%PDF-') ? 'pdf' : 'jpg'
}
