/** The ETag of a booking's version, which changes with the booking and its guests. */
export function etag (versione: number): string {
  return `"${versione}"`
}

/**
 * The versions that `If-Match` allows. Undefined if any version is allowed (no header, or `*`). Weak and foreign tags
 * match no version (RFC 9110, 13.1.1).
 */
export function expectedVersions (ifMatch: string | undefined): ReadonlySet<number> | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const tags = ifMatch.split(',').map((tag) => /^\s*"(\d{1,10})"\s*$/.exec(tag)?.[1])
  return new Set(tags.filter((tag) => tag !== undefined).map(Number))
}

/** Like `expectedVersions`, for tags that are not versions. */
export function expectedTags (ifMatch: string | undefined): ReadonlySet<string> | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  return new Set(ifMatch.split(',').map((tag) => tag.trim()))
}

/** Whether `If-None-Match` contains this tag (weak comparison, RFC 9110, 13.1.2). */
export function isKnown (ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === tag)
}
