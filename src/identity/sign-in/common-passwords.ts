import { readFileSync } from 'node:fs'

/**
 * Well-known passwords of at least eight characters, in lower case: from the head of the frequency count of Mark
 * Burnett's ten million leaked passwords (2015, public domain), and further sequences, keyboard patterns, years and
 * Italian words of the same kinds; at the end the first guesses against a program for guest houses. The list is far
 * from complete.
 */
const LIST = readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')

/** What `passwordProblems` takes for `pwned`. */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(LIST.trim().split(/\s+/))
