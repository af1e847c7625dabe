/**
 * How much a client wants a media type, from 0 (not at all) to 1, by its header `Accept` (RFC 9110, 12.5.1): the most
 * specific of the ranges that match counts. Without the header it takes anything.
 */
export function quality (accept: string | undefined, type: string): number {
  if (accept === undefined || accept.trim() === '') return 1
  const [main] = type.split('/')
  const wanted = [type, `${main}/*`, '*/*']
  const ranges = accept.split(',').map((each) => each.split(';').map((part) => part.trim().toLowerCase()))
  const matching = ranges
    .filter(([range = '']) => wanted.includes(range))
    .sort(([a = ''], [b = '']) => wanted.indexOf(a) - wanted.indexOf(b))
  const [, ...parameters] = matching[0] ?? ['', 'q=0']
  const value = parameters.find((each) => each.startsWith('q='))?.slice(2)
  return value === undefined ? 1 : Math.min(1, Math.max(0, Number(value) || 0))
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
  const wanted = (header ?? '').split(',').map((range) => {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((each) => each.startsWith('q='))?.slice(2)
    return { language: tag.split('-')[0], weight: weight === undefined ? 1 : Number(weight) || 0 }
  })
  const known = wanted.filter(({ language, weight }) => weight > 0 && languages.some((each) => each === language))
  const [best] = known.sort((a, b) => b.weight - a.weight)
  return languages.find((each) => each === best?.language) ?? languages[0]
}
