import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  decodeRefreshToken,
  encodeRefreshToken,
  classifyRefresh,
  REUSE_INTERVAL_MS
} from '#src/identity/tokens/refresh-token.ts'
import { anyCharacter } from '#test/any-character.ts'

const MAX = 2 ** 31 - 1
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const secret = Buffer.alloc(32, 7)
const counters = fc.oneof(
  fc.nat({ max: MAX }),
  fc.constantFrom(0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455, 268435456, MAX)
)
const tokens = fc.record({ sessionId: fc.uuid(), counter: counters }, { noNullPrototype: true })

/** A token put together by hand from whatever body, with the right HMAC and checksum. */
function signed (body: Buffer, by = secret): string {
  const key = createHmac('sha256', by).update(body.subarray(1, 17)).digest()
  return withChecksum(Buffer.concat([body, createHmac('sha256', key).update(body).digest().subarray(0, 16)]))
}

function withChecksum (bytes: Buffer): string {
  return Buffer.concat([bytes, createHash('sha256').update(bytes).digest().subarray(0, 4)]).toString('base64url')
}

const session = Buffer.from('0d9b7b1e2f5c4a559c7e8a3f0c1d2e3f', 'hex')
const body = (counter: number[], version = 0) => Buffer.concat([Buffer.of(version), session, Buffer.of(...counter)])

t.test('a decoded token has the values that were encoded', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), tokens, (secret, token) => {
        const text = encodeRefreshToken(Buffer.from(secret), token)
        assert.match(text, /^[A-Za-z0-9_-]{51,56}$/)
        assert.deepEqual(decodeRefreshToken(Buffer.from(secret), text), token)
      }),
      { numRuns: 500 }
    )
  )
})

t.test('the layout has not changed: tokens that were issued earlier stay good', async (t) => {
  const token = { sessionId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f', counter: 300 }
  t.equal(encodeRefreshToken(secret, token), signed(body([0xac, 0x02])))
  t.equal(encodeRefreshToken(secret, token), 'AA2bex4vXEpVnH6KPwwdLj-sArHkUwNWnUNOiUHpQ9EaANBcQ6-q')
  t.equal(
    encodeRefreshToken(secret, { ...token, sessionId: token.sessionId.toUpperCase() }),
    encodeRefreshToken(secret, token)
  )
})

t.test('a token with any one character changed, left out or added is refused', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(tokens, fc.nat(), (token, at) => {
    const text = encodeRefreshToken(secret, token)
    for (let place = 0; place < text.length; place++) {
      for (const character of ALPHABET + '=+/ .') {
        if (character !== text[place]) {
          assert.equal(decodeRefreshToken(secret, text.slice(0, place) + character + text.slice(place + 1)), undefined)
        }
      }
    }
    const place = at % text.length
    assert.equal(decodeRefreshToken(secret, text.slice(0, place) + text.slice(place + 1)), undefined)
    for (const character of ALPHABET + '=+/ .\n\u0000') {
      assert.equal(decodeRefreshToken(secret, text.slice(0, place) + character + text.slice(place)), undefined)
    }
    for (const other of [
      `${text}=`,
      `${text}==`,
      `${text}\n`,
      ` ${text}`,
      text.toLowerCase(),
      text.toUpperCase(),
      text + text
    ]) {
      assert.equal(decodeRefreshToken(secret, other), undefined)
    }
  }), { numRuns: 15 }))
})

t.test('a token with any one bit changed is refused, even with a corrected checksum', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(tokens, (token) => {
    const bytes = Buffer.from(encodeRefreshToken(secret, token), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      assert.equal(decodeRefreshToken(secret, changed.toString('base64url')), undefined)
      if (bit < (bytes.length - 4) * 8) {
        assert.equal(decodeRefreshToken(secret, withChecksum(changed.subarray(0, -4))), undefined)
      }
    }
  }), { numRuns: 30 }))
})

t.test('a token of another installation, or moved to another session or counter, is refused', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(tokens, tokens, (token, other) => {
    fc.pre(token.sessionId !== other.sessionId)
    const bytes = Buffer.from(encodeRefreshToken(secret, token), 'base64url')
    assert.equal(decodeRefreshToken(Buffer.alloc(32, 8), bytes.toString('base64url')), undefined)
    const others = Buffer.from(encodeRefreshToken(secret, other), 'base64url')
    const mac = bytes.subarray(-20, -4)
    assert.equal(decodeRefreshToken(secret, withChecksum(Buffer.concat([others.subarray(0, -20), mac]))), undefined)
    const later = Buffer.from(
      encodeRefreshToken(secret, { ...token, counter: token.counter === MAX ? 0 : token.counter + 1 }),
      'base64url'
    )
    assert.equal(decodeRefreshToken(secret, withChecksum(Buffer.concat([later.subarray(0, -20), mac]))), undefined)
  })))
})

t.test('each session has a key of its own', async (t) => {
  const other = Buffer.concat([Buffer.of(0), Buffer.alloc(16, 1), Buffer.of(5)])
  const key = createHmac('sha256', secret).update(session).digest()
  const forged = withChecksum(Buffer.concat([other, createHmac('sha256', key).update(other).digest().subarray(0, 16)]))
  t.equal(decodeRefreshToken(secret, forged), undefined)
  t.same(decodeRefreshToken(secret, signed(other)), { sessionId: '01010101-0101-0101-0101-010101010101', counter: 5 })
})

t.test(
  'even a signed token has only one form: the shortest counter, within bounds, and no further bytes',
  async (t) => {
    for (const [counter, value] of [
      [[5], 5],
      [[0x80, 0x01], 128],
      [[0xff, 0xff, 0xff, 0xff, 0x07], MAX]
    ] as const) {
      t.equal(decodeRefreshToken(secret, signed(body([...counter])))?.counter, value)
    }
    const wrong = [
      [],
      [0x85],
      [0x85, 0x00],
      [0x80, 0x00],
      [0x85, 0x80, 0x00],
      [0x05, 0x00],
      [0x05, 0x05],
      [0x80, 0x80, 0x80, 0x80, 0x08],
      [0xff, 0xff, 0xff, 0xff, 0x7f],
      [0xff, 0xff, 0xff, 0xff, 0xff],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
      [0x80, 0x80, 0x80, 0x80, 0x10],
      [0x85, 0x80, 0x80, 0x80, 0x00]
    ]
    for (const counter of wrong) t.equal(decodeRefreshToken(secret, signed(body(counter))), undefined, counter.join())
    for (const version of [1, 2, 0x80, 0xff]) {
      t.equal(decodeRefreshToken(secret, signed(body([5], version))), undefined, `version ${version}`)
    }
  }
)

t.test('unused bits of the last character must be zero', async (t) => {
  // 38 bytes: the last character carries four bits of a byte and two of nothing.
  const text = encodeRefreshToken(secret, { sessionId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f', counter: 1 })
  const last = ALPHABET.indexOf(text.at(-1)!)
  for (let bits = 1; bits < 4; bits++) {
    const other = text.slice(0, -1) + ALPHABET[last | bits]
    t.ok(Buffer.from(other, 'base64url').equals(Buffer.from(text, 'base64url')), 'the same bytes')
    t.equal(decodeRefreshToken(secret, other), undefined)
  }
})

t.test('decoding never throws for any text, and every accepted text is what would be encoded', async (t) => {
  const garbled = tokens.chain((token) => fc.tuple(fc.nat(), fc.string({ maxLength: 2 })).map(([at, put]) => {
    const text = encodeRefreshToken(secret, token)
    return text.slice(0, at % text.length) + put + text.slice(at % text.length + put.length)
  }))
  const shaped = fc
    .array(fc.constantFrom(...ALPHABET), { minLength: 50, maxLength: 57 })
    .map((characters) => characters.join(''))
  const anyBody = fc.uint8Array({ maxLength: 30 }).map((bytes) => signed(Buffer.from(bytes)))
  const signedCounter = fc.uint8Array({ maxLength: 6 }).map((bytes) => signed(body([...bytes])))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(), fc.string({ unit: anyCharacter, maxLength: 120 }), shaped, garbled, anyBody, signedCounter
        ),
        (text) => {
          const token = decodeRefreshToken(secret, text)
          if (token) assert.equal(encodeRefreshToken(secret, token), text)
        }
      ),
      { numRuns: 5000 }
    )
  )
  t.equal(decodeRefreshToken(secret, 'A'.repeat(10_000_000)), undefined)
})

t.test('a value that a token cannot hold is not encoded', async (t) => {
  for (const counter of [-1, 0.5, MAX + 1, NaN, Infinity]) {
    t.throws(
      () => encodeRefreshToken(secret, { sessionId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f', counter }),
      RangeError
    )
  }
  for (const sessionId of [
    '',
    '0d9b7b1e',
    '0d9b7b1e2f5c4a559c7e8a3f0c1d2e3f',
    '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3g',
    '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f\n'
  ]) {
    t.throws(() => encodeRefreshToken(secret, { sessionId, counter: 0 }), RangeError, sessionId)
  }
})

t.test(
  'the current token rotates, the last one is repeated within ten seconds, and a few times a day that may be a copy',
  async (t) => {
    t.equal(REUSE_INTERVAL_MS, 10_000)
    const nowMs = 1_700_000_000_000
    const table: readonly [number, number, number, number, ReturnType<typeof classifyRefresh>][] = [
      [5, 5, 0, 3, 'rotate'],
      [5, 5, 10_000, 3, 'rotate'],
      [5, 5, 9e9, 0, 'rotate'],
      [0, 0, 9e9, 0, 'rotate'],
      [4, 5, 0, 3, 'repeat'],
      [4, 5, 9_999, 3, 'repeat'],
      [4, 5, 10_000, 0, 'doubtful'],
      [4, 5, 9e9, 2, 'doubtful'],
      [4, 5, 10_000, 3, 'reused'],
      [3, 5, 0, 0, 'doubtful'],
      [3, 5, 9_999, 2, 'doubtful'],
      [3, 5, 9_999, 3, 'reused'],
      [3, 5, 10_000, 0, 'reused'],
      [3, 5, 9e9, 0, 'reused'],
      [0, 5, 9_999, 0, 'doubtful'],
      [0, 5, 10_000, 0, 'reused'],
      [0, 4095, 10_001, 0, 'reused'],
      [4095, 4096, 0, 0, 'void'],
      [4095, 4096, 9e9, 3, 'void'],
      [0, 4097, 9e9, 0, 'void'],
      [4096, 4097, 0, 0, 'repeat'],
      [0, MAX, 10_001, 0, 'void'],
      [6, 5, 0, 0, 'invalid'],
      [6, 5, 9e9, 0, 'invalid'],
      [MAX, 0, 0, 0, 'invalid']
    ]
    for (const [tokenCounter, sessionCounter, ago, repeats, verdict] of table) {
      t.equal(
        classifyRefresh({ tokenCounter, sessionCounter, lastRefreshMs: nowMs - ago, nowMs, repeats }),
        verdict,
        `${tokenCounter} of ${sessionCounter} after ${ago} ms and ${repeats} repeats`
      )
    }
  }
)
