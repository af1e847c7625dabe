interface Preference { name: string, weight: number }

/** Parses the values of an `Accept-*` header with their weights, from 0 (refused) to 1 (RFC 9110, 12.4.2). */
function readPreferences (header: string): Preference[] {
  return header.split(',').map((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((part) => part.startsWith('q='))?.slice(2)
    return { name, weight: weight === undefined ? 1 : Math.min(1, Math.max(0, Number(weight) || 0)) }
  })
}

/**
 * The weight of a media type in an `Accept` header (RFC 9110, 12.5.1). The most specific matching range decides.
 * Without the header all types are accepted.
 */
function quality (accept: string | undefined, type: string): number {
  if (accept === undefined || accept.trim() === '') return 1
  const preferences = readPreferences(accept)
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
  return ranges.flatMap((range) => preferences.find(({ name }) => name === range) ?? [])[0]?.weight ?? 0
}

/** Whether a client prefers `type` to `other`. False without a preference. */
export function prefers (accept: string | undefined, type: string, other: string): boolean {
  return quality(accept, type) > quality(accept, other)
}

/** Whether a client asks for a page rather than for data. */
export function wantsPage (
  { method, headers: { accept } }: { method: string, headers: { accept?: string | undefined } }
): boolean {
  return ['GET', 'HEAD'].includes(method) && prefers(accept, 'text/html', 'application/json')
}

/**
 * The client's preferred language by `Accept-Language` (RFC 9110, 12.5.4), or the first if none is accepted. Regions
 * are ignored: `de-AT` counts as German.
 */
export function preferredLanguage<T extends string> (header: string | undefined, languages: readonly [T, ...T[]]): T {
  const wanted = readPreferences(header ?? '').map(({ name, weight }) => ({ language: name.split('-')[0], weight }))
  const known = wanted.filter(({ language, weight }) => weight > 0 && languages.some((each) => each === language))
  const [best] = known.sort((a, b) => b.weight - a.weight)
  return languages.find((each) => each === best?.language) ?? languages[0]
}
