import { readFileSync, statSync } from 'node:fs'

const RESULT = '.tap/test-results/test/setup/all.ts.tap'
const SHOWN = 10

/** Lines that name the slowest test files of a whole run that began at `since` (ms), from what tap has kept of it. */
export function slowestFiles (since: number): string[] {
  const kept = statSync(RESULT, { throwIfNoEntry: false })
  if (!kept || kept.mtimeMs < since) return []
  const output = readFileSync(RESULT, 'utf8')
  const times = Array.from(
    output.matchAll(/^ *(?:not )?ok \d+ - (test\/\S+\.test\.ts) # time=([\d.]+)ms$/gm),
    ([, file, ms]) => ({ file, ms: Number(ms) }))
  times.sort((a, b) => b.ms - a.ms)
  const all = times.reduce((sum, { ms }) => sum + ms, 0)
  return [
    `# the slowest of ${times.length} files, which took ${seconds(all)} s in all, side by side:`,
    ...times.slice(0, SHOWN).map(({ file, ms }) => `# ${seconds(ms).padStart(6)} s ${file}`)
  ]
}

function seconds (ms: number): string {
  return (ms / 1000).toFixed(1)
}
