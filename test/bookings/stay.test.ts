import fc from 'fast-check'
import t from 'tap'
import { changedStay, newStay } from '#src/bookings/stay.ts'
import { anyDay, dayNumber } from '#test/days.ts'
import { build } from '#test/helper.ts'
import { create, read } from './samples.ts'

const nights = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 36_500 }))
const stay = fc
  .tuple(anyDay(1, 9800), nights)
  .map(([check_in, numero_notti]) => ({ ...newStay({ check_in, numero_notti }), numero_notti }))

/** The days apart, by a calendar that shares nothing with the code. */
function apart ({ check_in, check_out }: { check_in: string, check_out: string }): number {
  return dayNumber(check_out) - dayNumber(check_in)
}

t.test('check_out is check_in plus numero_notti', async () => {
  fc.assert(fc.property(anyDay(1, 9800), nights, (check_in, numero_notti) => {
    const result = newStay({ check_in, numero_notti })
    return result.check_in === check_in && apart(result) === numero_notti
  }), { numRuns: 1000 })
})

t.test('a stay given by its days keeps them, whatever nights come with them', async () => {
  fc.assert(fc.property(stay, fc.option(nights, { nil: undefined }), ({ check_in, check_out }, numero_notti) => {
    const result = newStay({ check_in, check_out, numero_notti })
    return result.check_in === check_in && result.check_out === check_out
  }))
})

t.test('of a change, the three rules hold, and a stay that would end before it begins is refused', async (t) => {
  const change = fc.record(
    { check_in: anyDay(2020, 2030), check_out: anyDay(2020, 2030), numero_notti: nights },
    { requiredKeys: [] }
  )
  const current = fc
    .tuple(anyDay(2020, 2030), nights)
    .map(([check_in, numero_notti]) => newStay({ check_in, numero_notti }))
  let refusals = 0
  fc.assert(fc.property(current, change, (before, change) => {
    const check_in = change.check_in ?? before.check_in
    const byNights =
      change.numero_notti === undefined ? dayNumber(before.check_out) : dayNumber(check_in) + change.numero_notti
    const wanted = change.check_out === undefined ? byNights : dayNumber(change.check_out)
    const valid = wanted > dayNumber(check_in) && wanted - dayNumber(check_in) <= 36_500
    try {
      const after = changedStay(before, change)
      return valid && after.check_in === check_in && dayNumber(after.check_out) === wanted
    } catch {
      refusals++
      return !valid
    }
  }), { numRuns: 1000 })
  t.ok(refusals > 0)
})

t.test('a stored stay is the same by its days and by its nights', async (t) => {
  const { call } = await build(t)
  await fc.assert(fc.asyncProperty(stay, fc.boolean(), async ({ check_in, check_out, numero_notti }, byNights) => {
    const created = await create(
      call,
      byNights ? { check_in, numero_notti } : { check_in, check_out, numero_notti: undefined }
    )
    const { ospiti: _, ...stored } = await read(call, created.id)
    t.match(created, { check_in, check_out, numero_notti })
    t.same(stored, created)
    t.equal(apart(created), created.numero_notti)
  }), { numRuns: 60 })
})
