import type { Sample } from './sampler.ts'
import { medianOf, steadyRise, theilSen } from './slope.ts'

/**
 * Maximum growth per minute, above the noise. Garbage makes resident memory vary by tens of megabytes, so only its
 * level is compared. The allocator keeps memory, so `held` may rise once, by 20 to 25 MB. The check of `held` fails
 * only if it grows in both halves, or if the second half needs much more than the first.
 */
const BOUNDS = {
  held: { perMinute: 1, unit: 'MB', mayStep: true },
  heap: { perMinute: 0.3, unit: 'MB', mayStep: false },
  descriptors: { perMinute: 0.5, unit: '', mayStep: false },
  connections: { perMinute: 0.2, unit: '', mayStep: false }
}
type Rising = keyof typeof BOUNDS
type Figure = Rising | 'memory'

/** Minimum minutes of a window, because in a shorter one the growth after the start looks like a leak. */
const SHORTEST_MINUTES = 3
/** Minimum number of samples. With fewer, the check fails. */
const FEWEST = 6
/** Maximum ratio between the last life and the first, and between the halves of a life. */
const ACROSS = 1.15

/** The result for one figure. */
export interface Verdict { name: string, value: string, bound: string, ok: boolean }

/** Checks the last two thirds of each long life, and the last long life against the first. */
export function judgeFlatness (samples: readonly Sample[]): Verdict[] {
  const lives = [...Map.groupBy(samples, ({ life }) => life)]
    .map(([life, all]) => ({ life, settled: all.slice(Math.floor(all.length / 3)) }))
    .filter(({ settled }) => settled.at(-1)!.minute - settled[0]!.minute >= SHORTEST_MINUTES)
  const [first, last] = [lives[0], lives.at(-1)]
  const across = 'last long life against the first'
  const levels = (figure: Figure) => first === last ? [] : [judgeAcross(figure, across, first!.settled, last!.settled)]
  const steps = (figure: Rising) => lives.filter(() => BOUNDS[figure].mayStep).map(({ life, settled }) => {
    const middle = settled.length >> 1
    const halves = `server ${life}, second half against the first`
    return judgeAcross(figure, halves, settled.slice(0, middle), settled.slice(middle))
  })
  const rising = Object.keys(BOUNDS) as Rising[]
  return [...levels('memory'), ...rising.flatMap((figure) => [
    ...lives.map(({ life, settled }) => judgeSlope(figure, life, settled)), ...steps(figure), ...levels(figure)
  ])]
}

const PARTS = ['rss', 'heapTotal', 'external', 'arrayBuffers'] as const

/**
 * Describes how each part of the memory developed in each life. Growth of `rss` alone is machine code or the allocator.
 */
export function describeParts (samples: readonly Sample[]): string[] {
  return [...Map.groupBy(samples, ({ life }) => life)].flatMap(([life, all]) => {
    const looks = all.flatMap(({ minute, parts }) => parts ? [{ minute, ...parts }] : [])
    const [first, last] = [looks[0], looks.at(-1)]
    if (first === undefined || last === first) return []
    const said = PARTS.map((part) => {
      const slope = theilSen(looks.map((look) => ({ x: look.minute, y: look[part] })))
      const change = `${slope >= 0 ? '+' : ''}${slope.toFixed(2)}/min`
      return `${part} ${first[part].toFixed(0)} → ${last![part].toFixed(0)} MB (${change})`
    })
    return [`server ${life}: ${said.join(', ')}`]
  })
}

function judgeSlope (figure: Rising, life: number, settled: readonly Sample[]): Verdict {
  const { perMinute, unit, mayStep } = BOUNDS[figure]
  const seen = known(settled, figure)
  const points = seen.map((sample) => ({ x: sample.minute, y: sample[figure] }))
  const slope = mayStep ? steadyRise(points) : theilSen(points)
  const minutes = settled.at(-1)!.minute - settled[0]!.minute
  const rise = `${slope >= 0 ? '+' : ''}${slope.toFixed(2)}${unit && ` ${unit}`}/min`
  return {
    name: `${figure}, server ${life}, ${minutes.toFixed(0)} min`,
    value: seen.length < FEWEST ? `${seen.length} samples` : rise,
    bound: `≤ ${perMinute}${unit && ` ${unit}`}/min`,
    ok: seen.length >= FEWEST && slope <= perMinute
  }
}

function judgeAcross (figure: Figure, what: string, first: readonly Sample[], last: readonly Sample[]): Verdict {
  const [before, after] = [first, last].map((samples) =>
    medianOf(known(samples, figure).map((sample) => sample[figure])) ?? NaN)
  return {
    name: `${figure}, ${what}`,
    value: `${after!.toFixed(0)} / ${before!.toFixed(0)}`,
    bound: `≤ ${ACROSS}x`,
    ok: after! <= before! * ACROSS
  }
}

function known (samples: readonly Sample[], figure: Figure): Sample[] {
  return samples.filter((sample) => !Number.isNaN(sample[figure]))
}
