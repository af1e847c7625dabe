import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { unwrap, wrap, wrappingKey, WrongKeyError } from '#src/plugins/storage/wrapping.ts'

const key = randomBytes(32)
const wrapping = randomBytes(32)
const binding = { bucket: 'documents', id: randomUUID(), owner: 'user:1' }
const wrapped = wrap(key, wrapping, binding)

function isRefused (text: Buffer, withKey = wrapping, to: Parameters<typeof unwrap>[2] = binding): boolean {
  try {
    unwrap(text, withKey, to)
    return false
  } catch (err) {
    return err instanceof WrongKeyError
  }
}

t.test('a key is unwrapped for its own object, and wrapped anew it looks different', async (t) => {
  t.ok(unwrap(wrapped, wrapping, binding).equals(key))
  t.notOk(wrap(key, wrapping, binding).equals(wrapped))
})

t.test('a wrapped key with any bit flipped is refused', async (t) => {
  for (let bit = 0; bit < wrapped.length * 8; bit++) {
    const changed = Buffer.from(wrapped)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    if (!isRefused(changed)) t.fail(`bit ${bit}`)
  }
  t.pass()
})

t.test('a wrapped key with a tag of fewer than 16 bytes is refused', async (t) => {
  for (let length = 0; length < wrapped.length; length++) {
    if (!isRefused(wrapped.subarray(0, length))) t.fail(`${length} bytes`)
  }
  t.ok(isRefused(Buffer.concat([wrapped, Buffer.alloc(1)])))
})

t.test('a wrapped key is refused for another bucket, object or owner, and with another generation', async (t) => {
  t.ok(isRefused(wrapped, randomBytes(32)))
  await fc.assert(fc.property(fc.string(), fc.option(fc.string()), (bucket, owner) => {
    const isOwn = bucket === binding.bucket && owner === binding.owner
    return isOwn || isRefused(wrapped, wrapping, { ...binding, bucket, owner })
  }))
  t.ok(isRefused(wrapped, wrapping, { ...binding, id: randomUUID() }))
  const nobody = { ...binding, owner: null }
  t.ok(isRefused(wrap(key, wrapping, nobody), wrapping, { ...binding, owner: '' }))
  t.ok(isRefused(wrap(key, wrapping, { ...binding, owner: 'null' }), wrapping, nobody))
})

t.test('the wrapping key hangs on the master key and the salt, in a way that does not change', async (t) => {
  const secret = (byte: number) => createKeys(Buffer.alloc(32, byte)).derive('storage')
  const salt = Buffer.alloc(32, 2)
  // From another implementation.
  const expected = 'ea20b750d96919d38c5fdd2cb6018dad299de0c1c1cfdf441565042059cceabe'
  t.equal(wrappingKey(secret(1), salt).toString('hex'), expected)
  t.notOk(wrappingKey(secret(1), salt).equals(wrappingKey(secret(3), salt)))
  t.notOk(wrappingKey(secret(1), salt).equals(wrappingKey(secret(1), Buffer.alloc(32, 4))))
})
