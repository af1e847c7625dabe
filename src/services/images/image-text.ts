import { IMAGE_BYTES_MAX, IMAGE_FORMATS } from '#schemas/image.ts'
import { decodeBase64, decodedSize } from '#src/lib/base64.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { ContenutoTroppoGrande } from '../files/errors.ts'

/** Prefixes of `FileReader.readAsDataURL` in browsers. */
const PREFIXES = Object.values(IMAGE_FORMATS).map(({ contentType }) => `data:${contentType};base64,`)

export const NOT_BASE64 = 'non è Base64 valido'

/**
 * Whether a text is an image in Base64. It is a schema format, so that this error is listed with the others. Decoding
 * takes a tenth of the time of a regular expression.
 */
export function isImageText (text: string): boolean {
  return decodeBase64(withoutPrefix(text)) !== undefined
}

/**
 * Decodes an image sent as text in a body field.
 * @throws CampiNonValidi; ContenutoTroppoGrande (413) above `bytesMax`
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
