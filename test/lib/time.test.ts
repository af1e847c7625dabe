import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { addDays, ageInYears, createClock, dayInRome, daysBetween, isDay } from '#src/lib/time.ts'
import { anyCharacter } from '#test/any-character.ts'
import { anyDay, dayNumber, monthLength, written } from '#test/days.ts'

t.test('a day moved by n is n days away, whatever lies between', async () => {
  fc.assert(fc.property(anyDay(102, 9880), fc.integer({ min: -36_500, max: 36_500 }), (day, days) => {
    const moved = addDays(day, days)
    return isDay(moved) && dayNumber(moved) - dayNumber(day) === days
  }), { numRuns: 1000 })
})

t.test('the distance between two days is the difference of their places in the calendar', async () => {
  fc.assert(
    fc.property(anyDay(), anyDay(), (from, to) => daysBetween(from, to) === dayNumber(to) - dayNumber(from)),
    { numRuns: 1000 }
  )
})

t.test('exactly the days of the calendar are days', async () => {
  const part = (max: number) => fc.integer({ min: 0, max })
  fc.assert(
    fc.property(
      part(9999),
      part(14),
      part(33),
      (year, month, day) =>
        isDay(written(year, month, day)) === (year >= 1 && day >= 1 && day <= monthLength(year, month))
    ),
    { numRuns: 2000 }
  )
})

t.test('any other text is not a day', async (t) => {
  const texts = [
    '', '2026-2-3', '2026-02-3', ' 2026-02-03', '2026-02-03 ', '2026-02-03\n', '20260203', '2026-02-03T00:00:00Z',
    '+002026-02-03', '-2026-02-03', '２０２６-02-03', '10000-01-01', 'oggi'
  ]
  for (const text of texts) t.notOk(isDay(text), JSON.stringify(text))
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 12 }), (text) => !isDay(text) || /^\d{4}-\d\d-\d\d$/.test(text))
  )
})

t.test('Rome is one hour ahead of UTC, two from the last Sunday of March to that of October', async () => {
  const HOUR = 3_600_000
  const lastSunday = (year: number, month: number) => {
    const last = written(year, month, 31)
    return Date.parse(`${written(year, month, 31 - (dayNumber(last) - dayNumber('0001-01-07')) % 7)}T01:00:00Z`)
  }
  const instant = fc
    .tuple(fc.integer({ min: 1997, max: 2400 }), fc.integer({ min: 0, max: 8700 }), fc.integer({ min: -1, max: 1 }))
    .map(([year, hour, off]) => ({ year, at: Date.UTC(year, 0, 1, hour) + off }))
  fc.assert(fc.property(instant, ({ year, at }) => {
    const inYear = new Date(at).getUTCFullYear() === year
    const summer = inYear && at >= lastSunday(year, 3) && at < lastSunday(year, 10)
    return dayInRome(new Date(at)) === new Date(at + (summer ? 2 : 1) * HOUR).toISOString().slice(0, 10)
  }), { numRuns: 2000 })
})

t.test('the day in Rome changes at midnight in Rome', async (t) => {
  t.equal(dayInRome(new Date('2026-03-28T22:59:59.999Z')), '2026-03-28')
  t.equal(dayInRome(new Date('2026-03-28T23:00:00.000Z')), '2026-03-29')
  t.equal(dayInRome(new Date('2026-03-29T21:59:59.999Z')), '2026-03-29')
  t.equal(dayInRome(new Date('2026-03-29T22:00:00.000Z')), '2026-03-30')
  t.equal(dayInRome(new Date('2026-12-31T23:00:00.000Z')), '2027-01-01')
})

t.test('an age is the number of birthdays had, and 29 February is 1 March in common years', async (t) => {
  t.equal(ageInYears('2004-02-29', '2026-02-28'), 21)
  t.equal(ageInYears('2004-02-29', '2026-03-01'), 22)
  t.equal(ageInYears('2004-02-29', '2024-02-29'), 20)
  t.equal(ageInYears('2026-11-21', '2026-11-21'), 0)
  fc.assert(fc.property(anyDay(1900, 2030), anyDay(2031, 2040), (born, on) => {
    const [year, rest] = [Number(born.slice(0, 4)), born.slice(5)]
    const birthdays = Array.from({ length: 150 }, (_, index) => year + 1 + index)
      .map((each) => rest === '02-29' && monthLength(each, 2) === 28 ? written(each, 3, 1) : `${each}-${rest}`)
    return ageInYears(born, on) === birthdays.filter((birthday) => birthday <= on).length
  }), { numRuns: 500 })
})

t.test('a clock that was told the day stands on it; otherwise it is today in Rome', async (t) => {
  t.equal(createClock('2024-02-29').today(), '2024-02-29')
  const before = dayInRome(new Date())
  const today = createClock().today()
  t.ok([before, dayInRome(new Date())].includes(today))
})

t.test('the time zone of the process makes no difference', async (t) => {
  const script = fileURLToPath(new URL('./time-zone.ts', import.meta.url))
  const inZone = async (zone: string) => {
    const { stdout } = await promisify(execFile)(process.execPath, [script], { env: { ...process.env, TZ: zone } })
    return JSON.parse(stdout) as { zone: string, answers: { rome: string[], spans: object[] } }
  }
  const [utc, ...others] = await Promise.all(['UTC', 'America/Los_Angeles', 'Pacific/Kiritimati'].map(inZone))
  t.same(utc?.answers.rome, ['2026-03-29', '2026-03-30', '2026-10-26', '2027-01-01', '2026-06-30'])
  t.same(utc?.answers.spans[3], { start: '2026-03-29', end: '2027-01-01' })
  t.same(others.map(({ zone }) => zone), ['America/Los_Angeles', 'Pacific/Kiritimati'])
  for (const other of others) t.same(other.answers, utc?.answers)
})
