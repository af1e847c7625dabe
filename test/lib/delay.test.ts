import t from 'tap'
import { delayAfter } from '#src/lib/delay.ts'

t.test('a delay doubles with each failure, up to the longest, however many failures there are', async (t) => {
  const delays = { first: 60, longest: 3600 }
  t.same([1, 2, 3, 6, 7, 8].map((failures) => delayAfter(failures, delays)), [60, 120, 240, 1920, 3600, 3600])
  t.equal(delayAfter(100_000, delays), 3600)
})
