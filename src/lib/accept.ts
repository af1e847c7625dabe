interface Wish { name: string, weight: number }

/** What a header of wishes names, with its weight from 0 (not at all) to 1 (RFC 9110, 12.4.2). */
function readWishes (header: string): Wish[] {
  return header.split(',').map((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((part) => part.startsWith('q='))?.slice(2)
    return { name, weight: weight === undefined ? 1 : Math.min(1, Math.max(0, Number(weight) || 0)) }
  })
}

/**
 * How much a client wants a media type, by its header `Accept` (RFC 9110, 12.5.1): the most specific of the ranges that
 * match counts. Without the header it takes anything.
 */
function quality (accept: string | undefined, type: string): number {
  if (accept === undefined || accept.trim() === '') return 1
  const wishes = readWishes(accept)
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
  return ranges.flatMap((range) => wishes.find(({ name }) => name === range) ?? [])[0]?.weight ?? 0
}

/** Whether a client would rather have the one type than the other; where it does not say, the other. */
export function prefers (accept: string | undefined, type: string, other: string): boolean {
  return quality(accept, type) > quality(accept, other)
}

/**
 * The language that a client wants most of some, by its header `Accept-Language` (RFC 9110, 12.5.4); the first where it
 * wants none of them. A region is passed over: `de-AT` is German.
 */
export function preferredLanguage<T extends string> (header: string | undefined, languages: readonly [T, ...T[]]): T {
  const wanted = readWishes(header ?? '').map(({ name, weight }) => ({ language: name.split('-')[0], weight }))
  const known = wanted.filter(({ language, weight }) => weight > 0 && languages.some((each) => each === language))
  const [best] = known.sort((a, b) => b.weight - a.weight)
  return languages.find((each) => each === best?.language) ?? languages[0]
}
