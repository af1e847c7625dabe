import { globSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

const RESULTS = '.tap/test-results'
const SHOWN = 10

/** Lines that name the slowest test files of the run that began at `since` (ms), from what tap has kept of each. */
export function slowestFiles (since: number): string[] {
  const times = globSync(join(RESULTS, '**/*.tap'))
    .filter((file) => statSync(file).mtimeMs >= since)
    .map((file) => ({ file: relative(RESULTS, file).replace(/\.tap$/, ''), ms: timeOf(readFileSync(file, 'utf8')) }))
  if (times.length <= SHOWN) return []
  times.sort((a, b) => b.ms - a.ms)
  const all = times.reduce((sum, { ms }) => sum + ms, 0)
  return [
    `# the slowest of ${times.length} files, which took ${seconds(all)} s in all, side by side:`,
    ...times.slice(0, SHOWN).map(({ file, ms }) => `# ${seconds(ms).padStart(6)} s ${file}`)
  ]
}

/** The last line of a file's output that is not indented tells how long the file took. */
function timeOf (output: string): number {
  return Number(/^# time=([\d.]+)ms$(?![\s\S]*^# time=)/m.exec(output)?.[1] ?? 0)
}

function seconds (ms: number): string {
  return (ms / 1000).toFixed(1)
}
