/** Characters of a statement that the audit log keeps. */
const KEPT = 500

/**
 * The tokens of a statement that hold data of people (PostgreSQL manual, 4.1): comments, strings and numbers. A token
 * without an end reaches to the end of the statement; a block comment, which can hold others, to the end of the last
 * one. Names are tokens, so that their digits stay, and so are quoted names that look like plain ones.
 */
const TOKENS = new RegExp([
  '(?<comment>--[^\\r\\n]*|/\\*(?:[^]*\\*/|[^]*))',
  // Escapes go on in a string on the next line.
  "[eE]'(?:[^'\\\\]|\\\\[^]|''|'\\s*[\\r\\n]\\s*')*(?:'|\\\\?$)",
  "(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*(?:'|$)",
  '(?<tag>\\$(?:[A-Za-z_\\u0080-\\u{10ffff}][\\w\\u0080-\\u{10ffff}]*)?\\$)(?:[^]*?\\k<tag>|[^]*)',
  '(?<name>"[a-z_][a-z0-9_]{0,62}"(?!")|[A-Za-z_\\u0080-\\u{10ffff}][\\w$\\u0080-\\u{10ffff}]*|\\$\\d+)',
  '(?:[uU]&)?"(?:[^"]|"")*(?:"|$)',
  '(?:\\d|\\.\\d)[\\w.]*(?:(?<=[eE])[+-]\\d+)?'
].join('|'), 'gu')

/** A statement with `?` for its constants and without its comments, for the audit log, which holds no personal data. */
export function maskConstants (statement: string): string {
  const masked = statement
    .replace(TOKENS, (_token, comment?: string, _tag?: string, name?: string) =>
      name ?? (comment === undefined ? '?' : ' '))
    .replace(/\s+/g, ' ').trim()
  return masked.length > KEPT ? `${masked.slice(0, KEPT)}…` : masked
}
