import fc from 'fast-check'
import t from 'tap'
import { createBag } from '#src/lib/bag.ts'

t.test('a bag holds what was added and not removed, each once, whatever the order', async (t) => {
  const things = Array.from({ length: 12 }, (_, id) => ({ id }))
  fc.assert(fc.property(fc.array(fc.tuple(fc.nat(11), fc.boolean()), { maxLength: 100 }), (steps) => {
    const bag = createBag<{ id: number }>()
    const expected = new Set<{ id: number }>()
    for (const [at, isAdded] of steps) {
      const thing = things[at]!
      if (!isAdded) {
        bag.remove(thing)
        expected.delete(thing)
      } else if (!expected.has(thing)) {
        bag.add(thing)
        expected.add(thing)
      }
    }
    t.strictSame(new Set(bag.items), expected)
    t.equal(bag.items.length, expected.size)
  }))
})
