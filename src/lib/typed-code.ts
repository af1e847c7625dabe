/** Separators that users type in a code: whitespace, and dashes of any length. */
const BETWEEN = /[\s\p{Pd}]/gu

/** Removes the separators from a typed code. */
export function plainCode (typed: string): string {
  return typed.replace(BETWEEN, '')
}
