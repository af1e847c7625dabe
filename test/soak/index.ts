import { randomInt } from 'node:crypto'
import process from 'node:process'
import { describeParts, judgeFlatness } from './flatness.ts'
import { soak } from './run.ts'

/* `MINUTES=30 SEED=1 npm run soak`: see README.md. It needs Linux (`/proc`). */

const { MINUTES = '30', SEED = String(randomInt(2 ** 31)) } = process.env
/** Maximum number of faults printed per check. */
const SHOWN = 20

const minutes = Number(MINUTES)
if (!(minutes > 0)) throw new Error('MINUTES is a number of minutes')
const print = (text: string) => process.stdout.write(`${text}\n`)
print(`soak: ${minutes} minutes, seed ${SEED}`)

const { samples, disturbances, responses, servers, errors, findings } = await soak(minutes, Number(SEED))
const verdicts = judgeFlatness(samples)
for (const { name, value, bound, ok } of verdicts) {
  print(`${ok ? 'ok   ' : 'MISS '} ${name.padEnd(52)} ${value.padStart(16)}  ${bound}`)
}
for (const said of describeParts(samples)) print(`      ${said}`)
if (verdicts.length === 0) print('      no life was long enough to say whether anything grows')
for (const { name, detail, faults } of findings) {
  print(`${faults.length === 0 ? 'ok   ' : 'MISS '} ${name.padEnd(16)} ${detail}`)
  for (const fault of faults.slice(0, SHOWN)) print(`        ${fault}`)
  if (faults.length > SHOWN) print(`        and ${faults.length - SHOWN} more`)
}
const total = Object.values(responses.classes).reduce((sum, count) => sum + count, 0)
print(`      ${total} requests, ${servers} servers, ${disturbances.length} faults`)
for (const [message, count] of errors) print(`      log at level error: ${message} (${count}×)`)

const holds = verdicts.every(({ ok }) => ok) && findings.every(({ faults }) => faults.length === 0)
process.exitCode = holds ? 0 : 1
