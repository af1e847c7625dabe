import { IMAGE_BYTES_MAX, IMAGE_FORMATS } from '#schemas/image.ts'
import { decodeBase64, decodedSize } from '#src/lib/base64.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { ContenutoTroppoGrande } from '../files/errors.ts'

/** What a browser writes before an image that it has read (`FileReader.readAsDataURL`). */
const PREFIXES = Object.values(IMAGE_FORMATS).map(({ contentType }) => `data:${contentType};base64,`)

export const NOT_BASE64 = 'non è Base64 valido'

/**
 * Whether a text is in Base64, as an image's is: what its schema asks of it, so that this fault is named with the
 * others. To decode it takes a tenth of the time that a regular expression takes.
 */
export function isImageText (text: string): boolean {
  return decodeBase64(withoutPrefix(text)) !== undefined
}

/**
 * The bytes of an image that came as text in a field of the body.
 * @throws CampiNonValidi; ContenutoTroppoGrande (413) for more than `bytesMax`
 */
export function readImageText (campo: string, text: string, bytesMax = IMAGE_BYTES_MAX): Buffer<ArrayBuffer> {
  const data = withoutPrefix(text)
  if (decodedSize(data) > bytesMax) throw new ContenutoTroppoGrande(String(bytesMax))
  const bytes = decodeBase64(data)
  if (bytes === undefined) throw new CampiNonValidi({ campo, messaggio: NOT_BASE64 })
  return bytes
}

function withoutPrefix (text: string): string {
  return text.slice(PREFIXES.find((each) => text.startsWith(each))?.length ?? 0)
}
