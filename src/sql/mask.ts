/** Of the audit log's row, the characters of a statement that are kept. */
const KEPT = 500

const ESCAPED = "'(?:[^'\\\\]|\\\\[^]|'')*(?:'|\\\\?$)"

/**
 * The tokens that hold what people wrote (PostgreSQL manual, 4.1), from any position; what does not end, ends with the
 * statement. Names in quotes are kept where they look like names.
 */
const TOKENS = new RegExp([
  '--[^\\r\\n]*',
  // Comments are nested: read by hand from here.
  '/\\*',
  // It goes on, with its escapes, in a string on the next line.
  `[eE]${ESCAPED}(?:(?:\\s|--[^\\r\\n]*[\\r\\n])*${ESCAPED})*`,
  "(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*(?:'|$)",
  '(?<dollar>\\$(?:[A-Za-z_\\u0080-\\u{10ffff}][\\w\\u0080-\\u{10ffff}]*)?\\$)',
  '(?<quoted>(?:[uU]&)?"(?:[^"]|"")*(?:"|$))',
  '(?<name>[A-Za-z_\\u0080-\\u{10ffff}][\\w$\\u0080-\\u{10ffff}]*|\\$\\d+)',
  '(?:\\d|\\.\\d)[\\w.]*(?:(?<=[eE])[+-]\\d+)?'
].join('|'), 'uy')

const PLAIN_NAME = /^"[a-z_][a-z0-9_]{0,62}"$/

/**
 * A statement without its constants: strings and numbers are `?`, comments are gone. For the audit log, which holds no
 * personal data.
 */
export function maskConstants (statement: string): string {
  let masked = ''
  let at = 0
  while (at < statement.length && masked.length <= KEPT * 4) {
    TOKENS.lastIndex = at
    const match = TOKENS.exec(statement)
    if (!match) {
      masked += statement[at]!
      at++
      continue
    }
    const [token] = match
    at += token.length
    const { dollar, quoted, name } = match.groups!
    if (token.startsWith('--')) masked += ' '
    else if (token === '/*') [at, masked] = [endOfComment(statement, at), masked + ' ']
    else if (dollar !== undefined) [at, masked] = [endOf(statement, dollar, at), masked + '?']
    else if (name !== undefined || (quoted !== undefined && PLAIN_NAME.test(quoted))) masked += token
    else masked += '?'
  }
  const short = masked.replace(/\s+/g, ' ').trim()
  return short.length > KEPT ? `${short.slice(0, KEPT)}…` : short
}

function endOf (statement: string, end: string, from: number): number {
  const found = statement.indexOf(end, from)
  return found < 0 ? statement.length : found + end.length
}

function endOfComment (statement: string, from: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = from
  for (let depth = 1; depth > 0;) {
    const mark = marks.exec(statement)
    if (!mark) return statement.length
    depth += mark[0] === '/*' ? 1 : -1
  }
  return marks.lastIndex
}
