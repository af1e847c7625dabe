/** What people put between the characters of a code that they type: blanks, and dashes of any length. */
const BETWEEN = /[\s\p{Pd}]/gu

/** A code as it was made, from what a person has typed. */
export function plainCode (typed: string): string {
  return typed.replace(BETWEEN, '')
}
