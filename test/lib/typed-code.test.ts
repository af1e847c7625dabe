import fc from 'fast-check'
import t from 'tap'
import { plainCode } from '#src/lib/typed-code.ts'

t.test('a code is the same however it is grouped, and whatever stands between the groups', async () => {
  const between = fc.array(fc.constantFrom(' ', '-', '–', '—', '‑', '\u00a0', '\t', '\n'), { maxLength: 3 })
  const grouped = fc.array(fc.tuple(fc.constantFrom(...'0123456789abcXYZ'), between), { maxLength: 20 })
  fc.assert(fc.property(grouped, (parts) => {
    const typed = parts.map(([character, more]) => character + more.join('')).join('')
    return plainCode(typed) === parts.map(([character]) => character).join('')
  }))
})

t.test('nothing else is taken from a code: it is wrong as it stands', async (t) => {
  for (const code of ['12345x', '123.456', '123_456', '٣', '']) t.equal(plainCode(code), code)
})
