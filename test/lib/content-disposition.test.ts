import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { contentDisposition } from '#src/lib/content-disposition.ts'
import { anyCharacter } from '#test/any-character.ts'

const PLAIN = /^attachment; filename="([^"\\]*)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]*))?$/

t.test('whatever a name holds, it stays a name, and is read back, without the signs of a path', async (t) => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter, maxLength: 150 }), (name) => {
    const header = contentDisposition('attachment', name)
    validateHeaderValue('content-disposition', header)
    const [, ascii, extended] = PLAIN.exec(header) ?? []
    return (extended === undefined ? ascii : decodeURIComponent(extended)) === name.replace(/[/\\]/g, '_')
  }))
  t.equal(contentDisposition('inline', '../..\\passwd'), 'inline; filename=".._.._passwd"')
})

t.test('plain names stay plain, and long ones are cut', async (t) => {
  t.equal(contentDisposition('inline', 'front.jpg'), 'inline; filename="front.jpg"')
  t.ok(contentDisposition('attachment', '😀'.repeat(10_000)).length < 3000)
})
