import { IMAGE_BYTES_MAX, IMAGE_FORMATS } from '#schemas/image.ts'
import { decodeBase64, decodedSize } from '#src/lib/base64.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { ContenutoTroppoGrande } from '../storage/errors.ts'

/** What a browser writes before an image that it has read (`FileReader.readAsDataURL`). */
const PREFIXES = Object.values(IMAGE_FORMATS).map(({ contentType }) => `data:${contentType};base64,`)

/**
 * The bytes of an image that came as text in a field of the body.
 * @throws CampiNonValidi; ContenutoTroppoGrande (413) for more than `bytesMax`
 */
export function readImageText (campo: string, text: string, bytesMax = IMAGE_BYTES_MAX): Buffer<ArrayBuffer> {
  const prefix = PREFIXES.find((each) => text.startsWith(each)) ?? ''
  const data = text.slice(prefix.length)
  if (decodedSize(data) > bytesMax) throw new ContenutoTroppoGrande(String(bytesMax))
  const bytes = decodeBase64(data)
  if (bytes === undefined) throw new CampiNonValidi({ campo, messaggio: 'non è Base64 valido' })
  return bytes
}
