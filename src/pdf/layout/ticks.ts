/**
 * Round numbers, a handful, from at most the one bound to at least the other; 0 and 1 where both bounds are zero. The
 * bounds lie on either side of zero.
 */
export function ticks (least: number, most: number): number[] {
  const span = most - least
  if (span === 0) return [0, 1]
  const rough = span / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough)! * power
  const [first, last] = [Math.floor(least / step), Math.ceil(most / step)]
  // 0.1 + 0.2 is not a label.
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)))
}
