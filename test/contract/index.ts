import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { CASES, ENDPOINTS, PROMISES, RULES, STATUSES } from './rows.ts'

/* `npm run test:contract` runs every row of the contract, and prints the result and the test of each. */

const KINDS = { endpoints: ENDPOINTS, rules: RULES, statuses: STATUSES, 'cases of errors': CASES }

const folder = new URL('.', import.meta.url)
const sources = readdirSync(folder).filter((name) => name !== 'rows.ts').map((name) => ({
  name, text: readFileSync(new URL(name, folder), 'utf8')
}))
const provenIn = (row: string) => sources.find(({ text }) => text.includes(`'${row}'`))?.name ?? 'no test'

const results = new Map<string, boolean>()
const child = spawn('tap', ['--disable-coverage', '--reporter=tap', 'test/contract/matrix.test.ts'], {
  cwd: new URL('../..', import.meta.url), stdio: ['ignore', 'pipe', 'inherit']
})
const exit = once(child, 'exit')
for await (const line of createInterface(child.stdout)) {
  const [, not, row] = /^\s+(not )?ok \d+ - ([A-Z]\d+) /.exec(line) ?? []
  if (row !== undefined && row in PROMISES) results.set(row, not === undefined)
}
const [code] = await exit as [number | null]

for (const [row, promise] of Object.entries(PROMISES)) {
  const word = results.get(row) ? 'pass' : 'FAIL'
  process.stdout.write(`${row.padEnd(4)} ${word}  ${promise}  (test/contract/${provenIn(row)})\n`)
}
const totals = Object.entries(KINDS).map(([kind, rows]) => {
  const all = Object.keys(rows)
  return `${kind} ${all.filter((row) => results.get(row)).length} of ${all.length}`
})
process.stdout.write(`contract: ${totals.join(', ')}\n`)
process.exitCode = code === 0 ? 0 : 1
