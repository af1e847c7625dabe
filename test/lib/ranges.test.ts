import fc from 'fast-check'
import t from 'tap'
import { readRange } from '#src/lib/ranges.ts'

t.test('a range is a part of the file, and the bytes that were asked for', async () => {
  fc.assert(fc.property(fc.nat(1000), fc.nat(1200), fc.nat(1200), (size, first, last) => {
    const bytes = Array.from({ length: size }, (_, at) => at)
    const found = readRange(`bytes=${first}-${last}`, size)
    const wanted = last < first ? undefined : bytes.slice(first, last + 1)
    if (wanted === undefined) return found === undefined
    if (wanted.length === 0) return found === 'unsatisfiable'
    return typeof found === 'object' && found.start === wanted[0] && found.end === wanted.at(-1)
  }))
  fc.assert(fc.property(fc.nat(1000), fc.nat(1200), (size, count) => {
    const found = readRange(`bytes=-${count}`, size)
    const length = Math.min(size, count)
    return length === 0
      ? found === 'unsatisfiable'
      : typeof found === 'object' && found.end === size - 1 && found.end - found.start + 1 === length
  }))
})

t.test('whatever a client writes is the whole, or lies within the file', async (t) => {
  const header = fc.oneof(fc.string(), fc.stringMatching(/^bytes=[0-9,-]{0,40}$/))
  fc.assert(fc.property(header, fc.nat(50), (header, size) => {
    const found = readRange(header, size)
    return typeof found !== 'object' || (found.start >= 0 && found.start <= found.end && found.end < size)
  }))
  for (const several of ['bytes=0-1,3-4', 'bytes=-', 'bytes=a-b', 'items=0-1', '', undefined]) {
    t.equal(readRange(several, 10), undefined, String(several))
  }
})
