interface Script { name: string, contains: RegExp, letters: string, latin: string }

/**
 * Letters that look like Latin ones, above their Latin counterparts (Unicode UTS #39, confusables). They are typed by
 * mistake on a keyboard with two alphabets, and look right.
 */
const SCRIPTS: readonly Script[] = [
  {
    name: 'greco',
    contains: /\p{Script=Greek}/u,
    letters: 'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορυχ',
    latin: 'ABEZHIKMNOPTYXaikvopux'
  },
  {
    name: 'cirillico',
    contains: /\p{Script=Cyrillic}/u,
    letters: 'АВЕЅІЈКМНОРСТУХаеѕіјорсух',
    latin: 'ABESIJKMHOPCTYXaesijopcyx'
  }
]

const WINDOWS_1252 = new TextDecoder('windows-1252')
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** The byte of each character that Windows-1252 or ISO 8859-1 decodes. */
const BYTES = new Map(Array.from({ length: 256 }, (_, byte) => byte).flatMap((byte) => [
  [String.fromCharCode(byte), byte] as const, [WINDOWS_1252.decode(Uint8Array.of(byte)), byte] as const
]))
const LATIN_NAME = /^[\p{Script=Latin}\p{M}'’ .-]+$/u

/** The Latin name that was encoded as UTF-8 and decoded as Windows-1252, once or more often; otherwise undefined. */
export function decodedAgain (text: string): string | undefined {
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

const FULL_WIDTH = /^[！-～]$/u

/**
 * Lists refused characters for a message; `refused` holds each once. A lookalike from another alphabet is named,
 * because the person who typed it sees nothing wrong.
 */
export function describeCharacters (refused: string): string {
  const plain: string[] = []
  const named: string[] = []
  for (const char of refused) {
    const name = nameOf(char)
    if (name === undefined) plain.push(char)
    else named.push(`${char} ${name}`)
  }
  return [...(plain.length > 0 ? [plain.join(' ')] : []), ...named].join(', ')
}

function nameOf (char: string): string | undefined {
  if (FULL_WIDTH.test(char)) return `(a larghezza intera) che sembra ${char.normalize('NFKC')}`
  const script = SCRIPTS.find(({ contains }) => contains.test(char))
  const latin = script?.latin[script.letters.indexOf(char)]
  return latin === undefined ? undefined : `(${script!.name}) che sembra ${latin}`
}
