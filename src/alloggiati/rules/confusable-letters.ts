interface Script { name: string, contains: RegExp, letters: string, latin: string }

/**
 * Letters that look like Latin ones, above their Latin counterparts (Unicode UTS #39, confusables). People with
 * keyboards for two alphabets type them by mistake.
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

const FULL_WIDTH = /^[！-～]$/u

/**
 * Lists refused characters for a message. `refused` contains each character once. The list names the alphabet of a
 * lookalike, because the person who typed it cannot see the difference.
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
