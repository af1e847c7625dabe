import { IMAGE_BYTES_MAX } from '#schemas/image.ts'
import { decodeBase64, strictBase64 } from '#src/lib/base64.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { ContenutoTroppoGrande } from '../files/errors.ts'

/**
 * The prefix of a data URL, in any letter case and with parameters. Browsers write no type, or `octet-stream`, for a
 * format that they do not know. The format is detected from the content.
 */
const PREFIX =
  /^data:(?:image\/[\w.+-]+|application\/(?:pdf|octet-stream))?(?:;[\w.+-]+=(?:"[^"]*"|[^;,"]*))*;base64,/i
const PREFIX_MAX = 300

export const NOT_BASE64 = 'non è Base64 valido'

/**
 * Whether a text is Base64, with or without the prefix of a data URL. The schema uses it as a format, so that its error
 * is listed together with others. It decodes the text, which takes a tenth of the time of a regular expression.
 */
export function isBase64Text (text: string): boolean {
  return decode(text) !== undefined
}

/**
 * Returns the bytes of an image sent as bytes, or as text in a body field.
 * @throws CampiNonValidi, ContenutoTroppoGrande (413) above `bytesMax`
 */
export function readImage (
  campo: string, image: string | Buffer<ArrayBuffer>, bytesMax = IMAGE_BYTES_MAX
): Buffer<ArrayBuffer> {
  const bytes = typeof image === 'string' ? decode(image) : image
  if (bytes === undefined) throw new CampiNonValidi({ campo, messaggio: NOT_BASE64 })
  if (bytes.length > bytesMax) throw new ContenutoTroppoGrande(String(bytesMax))
  return bytes
}

function decode (text: string): Buffer<ArrayBuffer> | undefined {
  const data = text.slice(PREFIX.exec(text.slice(0, PREFIX_MAX))?.[0].length ?? 0)
  return decodeBase64(data) ?? decodeBase64(strictBase64(data))
}
