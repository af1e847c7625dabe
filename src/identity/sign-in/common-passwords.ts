import { readFileSync } from 'node:fs'

/**
 * Well-known passwords of at least eight characters, in lower case: the most frequent ones in Mark Burnett's count of
 * ten million leaked passwords (2015, public domain). The list also contains sequences, keyboard patterns, years and
 * Italian words of the same kinds, and at the end likely passwords for guest-house software. It is far from complete.
 */
const LIST = readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')

/** Passwords that `passwordProblems` reports as `pwned`. */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(LIST.trim().split(/\s+/))
