import fc from 'fast-check'

/* The Gregorian calendar calculated by its rules, without `Date`, as a reference for the production code. */

const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function monthLength (year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && leap ? 29 : LENGTHS[month - 1] ?? 0
}

export function written (year: number, month: number, day: number): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

/** Number of days since the start of the year 1. */
export function dayNumber (day: string): number {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  const before = year - 1
  const months = Array.from({ length: month - 1 }, (_, index) => monthLength(year, index + 1))
  return before * 365 + Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) +
    months.reduce((sum, length) => sum + length, 0) + date - 1
}

/** The days of a stay's nights, in order, from `first` to the day before `end`. */
export function daysOf (first: string, end: string): string[] {
  const days: string[] = []
  for (let day = first; day < end; day = following(day)) days.push(day)
  return days
}

function following (day: string): string {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  if (date < monthLength(year, month)) return written(year, month, date + 1)
  return month < 12 ? written(year, month + 1, 1) : written(year + 1, 1, 1)
}

/** Any day of these years. The ends of months are more frequent than other days. */
export function anyDay (from = 1, to = 9999): fc.Arbitrary<string> {
  const date = fc.oneof(fc.integer({ min: 1, max: 31 }), fc.constantFrom(1, 28, 29, 31))
  return fc.tuple(fc.integer({ min: from, max: to }), fc.integer({ min: 1, max: 12 }), date)
    .map(([year, month, day]) => written(year, month, Math.min(day, monthLength(year, month))))
}
