/* For scripts that no font of ours has: a name in Latin letters is worth more than a row of boxes. */

/** Georgian, by the national system of 2002. */
const GEORGIAN: Record<string, string> = pairs(
  'ა a ბ b გ g დ d ე e ვ v ზ z თ t ი i კ k’ ლ l მ m ნ n ო o პ p’ ჟ zh რ r ს s ტ t’ უ u ფ p ქ k ღ gh ყ q’ შ sh ჩ ch ' +
  'ც ts ძ dz წ ts’ ჭ ch’ ხ kh ჯ j ჰ h'
)
/** Armenian, as passports write it. */
const ARMENIAN: Record<string, string> = pairs(
  'ա a բ b գ g դ d ե e զ z է e ը y թ t ժ zh ի i լ l խ kh ծ ts կ k հ h ձ dz ղ gh ճ ch մ m յ y ն n շ sh ո o չ ch պ p ' +
  'ջ j ռ r ս s վ v տ t ր r ց ts ւ v փ p ք k օ o ֆ f և ev'
)
const TABLE = new Map(Object.entries({ ...GEORGIAN, ...ARMENIAN }))

/** What says how a picture is drawn: its colour of skin, its frame, with which others it is joined. */
const SELECTORS = /[\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u20E3]/u

/**
 * A character in simpler ones: a letter without its marks, or Latin letters of the same sound. Empty for what has no
 * shape of its own; undefined where there is nothing simpler.
 */
export function simplify (character: string): string | undefined {
  if (SELECTORS.test(character)) return ''
  const plain = character.normalize('NFKD').replace(/\p{M}/gu, '')
  if (plain !== '' && plain !== character) return plain
  const lower = character.toLowerCase()
  const found = TABLE.get(lower)
  if (found === undefined) return undefined
  return lower === character ? found : found[0]!.toUpperCase() + found.slice(1)
}

function pairs (list: string): Record<string, string> {
  const words = list.split(' ')
  return Object.fromEntries(words.flatMap((word, at) => at % 2 === 0 ? [[word, words[at + 1]!]] : []))
}
