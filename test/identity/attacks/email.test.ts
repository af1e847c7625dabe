import t from 'tap'
import { isEmail, normalizeEmail } from '#src/identity/people/email.ts'

const ACCENTS = ['', '\u0301', '\u0307', '\u0323', '\u0308\u0301']

t.test(
  'every character has one normalized form, in either case and with composed or combining accents',
  (t) => {
    const wrong: string[] = []
    for (let code = 0x21; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code < 0xe000) continue
      const character = String.fromCodePoint(code)
      if (
        [
          character.toLowerCase(),
          character.toUpperCase(),
          character.normalize('NFC'),
          character.normalize('NFD')
        ].every((each) => each === character)
      ) { continue }
      for (const accent of ACCENTS) {
        const written = `a${character}${accent}b@example.org`
        const one = normalizeEmail(written)
        const same = [one, written.normalize('NFC'), written.normalize('NFD'), ` ${written}\t`, one.normalize('NFD')]
        if (same.some((each) => normalizeEmail(each) !== one)) wrong.push(`${code.toString(16)} ${accent.length}`)
      }
    }
    t.same(wrong, [])
    t.end()
  }
)

t.test('every text is recognized as an address, or not, in a short time', (t) => {
  for (const text of [
    'a'.repeat(254),
    `${'a'.repeat(120)}@${'a.'.repeat(66)}`,
    `a@${'a-'.repeat(126)}`,
    `a@${'.'.repeat(252)}`,
    '@'.repeat(254),
    'a@'.repeat(127)
  ]) { t.notOk(isEmail(text)) }
  t.end()
})
