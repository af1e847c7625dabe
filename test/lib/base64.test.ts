import fc from 'fast-check'
import t from 'tap'
import { decodeBase64 } from '#src/lib/base64.ts'

/** As slow as it is sure: what is written again is what was read. */
function isStrict (text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text
}

t.test('the text of any bytes gives them back, in a buffer of their own', async (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
    const decoded = decodeBase64(Buffer.from(bytes).toString('base64'))
    return decoded !== undefined && decoded.equals(bytes) && decoded.buffer.byteLength === bytes.length
  }))
  t.pass()
})

t.test('a text of which one character is changed, added or left out is taken only as strict base64', async (t) => {
  const text = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'))
  // U+0141 ends in the byte of an `A`.
  const character = fc.constantFrom(
    '=', '-', '_', ' ', '\n', '\0', 'A', 'B', '/', '\u00e9', '\u0141', '\u2041', '\ud800'
  )
  fc.assert(fc.property(text, fc.nat(), character, fc.nat(2), (text, place, character, kind) => {
    const at = place % (text.length + 1)
    const changed = text.slice(0, at) + (kind === 0 ? '' : character) + text.slice(at + (kind === 1 ? 0 : 1))
    const decoded = decodeBase64(changed)
    return isStrict(changed) ? decoded?.equals(Buffer.from(changed, 'base64')) : decoded === undefined
  }), { numRuns: 20_000 })
  t.pass()
})

t.test('padding in the middle, alone or too much is refused', async (t) => {
  for (const text of ['=', '==', '===', '====', 'A===', 'AA=A', 'AAAA====', 'AA==AA==', 'QUI=QUI=', 'QQ=\u0141']) {
    t.equal(decodeBase64(text), undefined, text)
  }
  t.equal(decodeBase64('')?.length, 0)
})
