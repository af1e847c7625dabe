import { Readable } from 'node:stream'
import process from 'node:process'
import t from 'tap'
import { archive } from '#src/bookings/privacy/archive.ts'

const FILES = 300

t.test('of an export of many files one is open at a time, and the listeners do not grow with them', async (t) => {
  const warnings: Error[] = []
  const warned = (warning: Error) => { warnings.push(warning) }
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  let open = 0
  let mostOpen = 0
  let mostListeners = 0
  const bytes = Buffer.alloc(20_000, 1)
  const out = archive(Array.from({ length: FILES }, (_, index) => ({
    path: `documenti/${index}.jpg`,
    changed: new Date(),
    content: {
      bytes: bytes.length,
      open: async () => {
        mostOpen = Math.max(mostOpen, ++open)
        return Readable.from([bytes]).once('close', () => { open-- })
      }
    }
  })))
  let length = 0
  for await (const piece of out) {
    length += (piece as Buffer).length
    const counts = out.eventNames().map((event) => out.listenerCount(event))
    mostListeners = Math.max(mostListeners, ...counts)
  }
  t.ok(length > FILES * bytes.length)
  // The next one is opened before the one before has said that it is closed.
  t.ok(mostOpen <= 2, `${mostOpen} at a time`)
  t.equal(open, 0)
  t.ok(mostListeners <= 10, `${mostListeners} listeners`)
  t.same(warnings, [])
})

t.test('a caller who leaves in the middle of an export leaves no file open', async (t) => {
  let left = 0
  const out = archive(Array.from({ length: 20 }, (_, index) => ({
    path: `${index}`,
    changed: new Date(),
    content: {
      bytes: 1_000_000_000,
      open: async () => {
        left++
        return new Readable({ read () { this.push(Buffer.alloc(65_536)) } }).once('close', () => { left-- })
      }
    }
  })))
  const open = () => left
  for await (const chunk of out) if (open() > 0 && chunk !== null) break
  while (open() > 0) await new Promise((resolve) => { setImmediate(resolve) })
  t.equal(open(), 0)
})
