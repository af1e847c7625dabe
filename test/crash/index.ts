import { randomInt } from 'node:crypto'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { crashFilesAlone } from './files.ts'
import { runCrashTest } from './run.ts'

/*
 * Kills the server, PostgreSQL and a process that writes files many times, and checks that no data are lost. For
 * example `npm run test:crash -- --kills 200 --pg-kills 20 --seed 1`, or with `--only files --files-kills 100`.
 */

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    'pg-kills': { type: 'string', default: '20' },
    'files-kills': { type: 'string', default: '100' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) }
  }
})
const seed = Number(values.seed)
const print = (text: string) => process.stderr.write(`${text}\n`)
print(`seed ${seed}`)

async function submissions (): Promise<boolean> {
  const startedAt = performance.now()
  const result = await runCrashTest({
    kills: Number(values.kills),
    pgKills: Number(values['pg-kills']),
    seed,
    progress: print
  })
  const { kills, pgKills, submissions, double, lost, forgotten, respelled, broken, misdirected, states } = result
  for (const [what, list] of Object.entries({ double, lost, forgotten, respelled, broken, misdirected })) {
    for (const each of list) print(`${what}: ${each}`)
  }
  const formatCounts = (counts: Record<string, number>) =>
    Object.entries(counts).map(([what, n]) => `${what} ${n}`).join(', ')
  print(`killed at these steps: ${formatCounts(result.atSteps)}; the others at any instant`)
  print(`${formatCounts(states)}; ${Math.round((performance.now() - startedAt) / 1000)} s`)
  process.stdout.write(
    `crash: kills=${kills} pg-kills=${pgKills} submissions=${submissions} ` +
    `double=${double.length} lost=${lost.length} forgotten=${forgotten.length} respelled=${respelled.length} ` +
    `misdirected=${misdirected.length}\n`
  )
  return [double, lost, forgotten, respelled, broken, misdirected].every((list) => list.length === 0)
}

async function files (): Promise<boolean> {
  const { kills, files, unreadable, orphans, leftovers } = await crashFilesAlone(Number(values['files-kills']), seed)
  for (const [what, list] of Object.entries({ unreadable, orphans, leftovers })) {
    for (const each of list) print(`${what}: ${each}`)
  }
  process.stdout.write(
    `files: kills=${kills} files=${files} ` +
    `unreadable=${unreadable.length} orphans=${orphans.length} leftovers=${leftovers.length}\n`
  )
  return [unreadable, orphans, leftovers].every((list) => list.length === 0)
}

const parts = { submissions, files }
for (const [name, part] of Object.entries(parts)) {
  if (values.only !== undefined && values.only !== name) continue
  if (!await part()) process.exitCode = 1
}
