import { randomInt } from 'node:crypto'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { fuzzServer } from './server.ts'
import { runFuzz } from './run.ts'

/* `npm run test:fuzz -- --cases 20000 --seed 1` sends generated requests to a server process. */

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) }
  }
})
const seed = Number(values.seed)
process.stderr.write(`seed ${seed}\n`)
const server = await fuzzServer()
try {
  const result = await runFuzz({ ...server, cases: Number(values.cases), seed })
  const { accepted: { valid, nearly, hostile }, slowest } = result
  const faults = [...result.faults, ...server.errors().map((line) => `the log has an error: ${JSON.stringify(line)}`)]
  for (const fault of faults.slice(0, 100)) process.stderr.write(`${fault}\n`)
  process.stderr.write(`${JSON.stringify(result.statuses)}; the slowest: ${slowest.request}\n`)
  process.stdout.write(
    `fuzz: requests=${result.requests} accepted: valid=${valid} nearly=${nearly} hostile=${hostile} ` +
    `slowest=${slowest.ms} ms faults=${faults.length}\n`
  )
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  await server.end()
}
