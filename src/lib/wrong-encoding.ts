const WINDOWS_1252 = new TextDecoder('windows-1252')
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** The byte of each character that Windows-1252 or ISO 8859-1 decodes. */
const BYTES = new Map(Array.from({ length: 256 }, (_, byte) => byte).flatMap((byte) => [
  [String.fromCharCode(byte), byte] as const, [WINDOWS_1252.decode(Uint8Array.of(byte)), byte] as const
]))
const LATIN_NAME = /^[\p{Script=Latin}\p{M}'’ .-]+$/u

/** The Latin name that was encoded as UTF-8 and decoded as Windows-1252, once or more often; otherwise undefined. */
function decodedAgain (text: string): string | undefined {
  // A no-break space at the end, the second byte of à, was trimmed.
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

/** The probable name behind wrongly decoded text, as a sentence; otherwise ''. */
export function probably (text: string): string {
  const name = decodedAgain(text)
  return name === undefined ? '' : `Probabilmente è «${name}». `
}

/** The predicate of a warning about a wrongly decoded name. `{forse}` is the probable name, as `probably` gives it. */
export const ENCODING_DOUBT = 'sembra letto con la codifica sbagliata. {forse}Controllarlo sul documento'

/** The predicate with the probable name, if the text was decoded with the wrong encoding; otherwise undefined. */
export function encodingDoubt (text: string): string | undefined {
  const name = probably(text)
  return name === '' ? undefined : ENCODING_DOUBT.replace('{forse}', () => name)
}
