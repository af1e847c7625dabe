import fc from 'fast-check'
import t from 'tap'
import { acquired } from '#src/alloggiati/service/sandbox/store.ts'
import { anyCharacter } from '#test/any-character.ts'
import { testDatabase } from '#test/database.ts'
import { ACCOUNT, clockAt, first, headersOf, list, outcomes, sandbox, session, type Reply } from './client.ts'
import { guest } from './guest.ts'
import { envelope } from '../soap/xml.ts'

const { db } = await testDatabase(t)
const { post, call, token: getToken } = await sandbox(t, db, clockAt('2026-11-21T09:00:00Z'))
const token = await getToken()
const send = Buffer.from(envelope(`<a:Send>${session(token)}${list([guest()])}</a:Send>`))

/** A proper refusal: a SOAP fault of the sender or a plain 4xx. */
function isRefused ({ status, text }: Reply): boolean {
  return status === 500
    ? /soap:(Sender|VersionMismatch|MustUnderstand)<|soap:Client</.test(text)
    : status >= 400 && status < 500
}

t.test('any bytes at all are refused properly and acquire nothing', async (t) => {
  const headers = fc.constantFrom(
    headersOf('Send', 1.1),
    headersOf('Send', 1.2),
    { 'content-type': 'text/plain' },
    { 'content-type': ';;=' }
  )
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), headers, async (bytes, headers) => {
    t.ok(isRefused(await post(new Uint8Array(bytes), headers)))
  }), { numRuns: 150 })
  t.same(await acquired(db, ACCOUNT.utente), [])
})

t.test('markup of the right words in any order is refused properly and acquires nothing', async (t) => {
  const words = fc.constantFrom(
    '<',
    '>',
    '/',
    '=',
    '"',
    '&',
    ';',
    ' ',
    '<a:Send>',
    '</a:Send>',
    '<a:Utente>',
    session('altro'),
    list([guest()]),
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '<?',
    '?>',
    '<!DOCTYPE a>',
    'xmlns:a=',
    '\u{1f600}',
    '\0',
    '\ufeff'
  )
  await fc.assert(fc.asyncProperty(fc.array(words, { maxLength: 12 }), async (parts) => {
    const reply = await post(envelope(parts.join('')), headersOf('Send', 1.2))
    // The words may make a whole request: without its token it is refused as the service refuses.
    t.ok(isRefused(reply) || first(reply.text, 'esito') === 'false')
  }), { numRuns: 150 })
  t.same(await acquired(db, ACCOUNT.utente), [])
})

t.test('a good Send with some bytes replaced is refused, or acquires exactly what it says', async (t) => {
  const changes = fc.array(fc.tuple(fc.nat(send.length - 1), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 3
  })
  await fc.assert(fc.asyncProperty(changes, async (changes) => {
    const body = new Uint8Array(send)
    for (const [position, byte] of changes) body[position] = byte
    const before = (await acquired(db, ACCOUNT.utente)).length
    const reply = await post(body, headersOf('Send', 1.2))
    t.ok(reply.status === 200 || isRefused(reply))
    const valid = Number(/<SchedineValide>(\d+)</.exec(reply.text)?.[1] ?? 0)
    t.equal((await acquired(db, ACCOUNT.utente)).length - before, valid)
  }), { numRuns: 200 })
})

t.test('whatever characters XML holds, each row gets its verdict', async (t) => {
  const text = fc
    .string({ unit: anyCharacter, maxLength: 50 })
    .map((text) => text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/g, ''))
  await fc.assert(fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), async (texts) => {
    const rows = texts.flatMap((text) => [text, guest({ cognome: text }), guest({ numero: text })])
    const reply = await call('Test', session(token) + list(rows).replaceAll(']]>', ']]&gt;'))
    t.equal(reply.status, 200)
    t.equal(outcomes(reply.text).length, rows.length + 1)
    t.match(first(reply.text, 'SchedineValide'), /^\d+$/)
  }), { numRuns: 50 })
})
