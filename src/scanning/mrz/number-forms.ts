/**
 * The forms of document numbers, by issuer and first letter of the document code: A is a letter, 0 a digit.
 * Lists only document types whose valid numbers all have these forms.
 */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  'ITA C': ['AA00000AA'],
  'ITA P': ['AA0000000', 'A000000', '000000A'],
  'FRA P': ['00AA00000'],
  'POL I': ['AAA000000'],
  'POL P': ['AA0000000'],
  'ESP P': ['AAA000000'],
  'GBR P': ['000000000'],
  'USA P': ['000000000', 'A00000000'],
  'USA C': ['000000000'],
  'ROU I': ['AA000000'],
  'ROU P': ['000000000'],
  'UKR P': ['AA000000'],
  'BRA P': ['AA000000']
}

const CLASSES: Readonly<Record<string, string>> = { A: '[A-Z]', 0: '\\d' }

const PATTERNS = new Map(Object.entries(FORMS).map(([key, forms]) =>
  [key, new RegExp(`^(?:${forms.map((form) => form.replace(/./g, (each) => CLASSES[each]!)).join('|')})$`)]))

/** Whether a number has a form of its issuer. Undefined when the forms are not known. */
export function hasKnownForm (code: string, issuer: string, number: string): boolean | undefined {
  return PATTERNS.get(`${issuer} ${code.slice(0, 1)}`)?.test(number)
}
