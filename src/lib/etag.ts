/** The entity tag of a booking's version: it changes with every change of the booking or of its guests. */
export function etag (versione: number): string {
  return `"${versione}"`
}

/**
 * The versions that an `If-Match` header allows; undefined when any will do (no header, or `*`). Tags that are weak or
 * not ours match nothing (RFC 9110, 13.1.1).
 */
export function expectedVersions (ifMatch: string | undefined): ReadonlySet<number> | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const tags = ifMatch.split(',').map((tag) => /^\s*"(\d{1,10})"\s*$/.exec(tag)?.[1])
  return new Set(tags.filter((tag) => tag !== undefined).map(Number))
}

/** As `expectedVersions`, where a tag says more than a version: the tags themselves. */
export function expectedTags (ifMatch: string | undefined): ReadonlySet<string> | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  return new Set(ifMatch.split(',').map((tag) => tag.trim()))
}

/** Whether an `If-None-Match` header names this tag (weak comparison, RFC 9110, 13.1.2). */
export function isKnown (ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === tag)
}
