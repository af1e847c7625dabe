import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const HOW_MANY = 0x110000 - SURROGATES

/**
 * Any Unicode character, as the unit of a `fc.string`. fast-check's own (`binary`) first builds a table of all
 * characters, which takes a second and 200 MB per process (4.10).
 */
export const anyCharacter = fc.nat(HOW_MANY - 1).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (text) => {
    const characters = typeof text === 'string' && text.isWellFormed() ? [...text] : []
    if (characters.length !== 1) throw new Error('not one character')
    const point = characters[0]!.codePointAt(0)!
    return point < FIRST_SURROGATE ? point : point - SURROGATES
  }
)
