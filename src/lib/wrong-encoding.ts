const WINDOWS_1252 = new TextDecoder('windows-1252')
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Maps each character of Windows-1252 or ISO 8859-1 to its byte. */
const BYTES = new Map(Array.from({ length: 256 }, (_, byte) => byte).flatMap((byte) => [
  [String.fromCharCode(byte), byte] as const, [WINDOWS_1252.decode(Uint8Array.of(byte)), byte] as const
]))
const LATIN_NAME = /^[\p{Script=Latin}\p{M}'’ .-]+$/u

/** The original of a Latin name in UTF-8 that was decoded as Windows-1252, once or several times. Else undefined. */
function decodedAgain (text: string): string | undefined {
  // If a name ends with à, its second byte became a no-break space, which was trimmed.
  let name = text.replace(/(?<=\p{Ll})[ÃÂ]$/u, '$&\u00a0')
  for (let next = asUtf8(name); next !== undefined && next !== name; next = asUtf8(name)) name = next
  return name !== text && LATIN_NAME.test(name) ? name : undefined
}

function asUtf8 (text: string): string | undefined {
  const bytes = [...text].map((char) => BYTES.get(char))
  if (!bytes.every((byte) => byte !== undefined)) return undefined
  try {
    return UTF_8.decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

/** A sentence with the probable original of a wrongly decoded text. Empty for other text. */
export function probably (text: string): string {
  const name = decodedAgain(text)
  return name === undefined ? '' : `Probabilmente è «${name}». `
}

/** The predicate of a warning about a wrongly decoded name. `{forse}` is the sentence that `probably` returns. */
export const ENCODING_DOUBT = 'sembra letto con la codifica sbagliata. {forse}Controllarlo sul documento'

/** The predicate with the probable name, for a text with the wrong encoding. Undefined for other text. */
export function encodingDoubt (text: string): string | undefined {
  const sentence = probably(text)
  return sentence === '' ? undefined : ENCODING_DOUBT.replace('{forse}', () => sentence)
}
