import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { finder, findInLines, linter, ROOT, withLine } from './lint.ts'

const RULES = ['import-x/no-restricted-paths', 'no-restricted-syntax']
const lint = linter(RULES)
const findImports = finder(RULES)

const LOWER = /A lower floor does not import a higher one/
const INDEX = /Import only the index\.ts of another area/
const TABLE = /A table is imported by its own area alone/

const forbidden: [rule: string, file: string, imported: string, message: RegExp][] = [
  ['lib does not import config', 'src/lib/etag.ts', '#src/config/config.ts', LOWER],
  ['config does not import services', 'src/config/config.ts', '#src/services/jobs/plugin.ts', LOWER],
  ['the database does not import services', 'src/database/connect.ts', '#src/services/jobs/plugin.ts', LOWER],
  ['services do not import the HTTP edge', 'src/services/jobs/plugin.ts', '#src/http/rate-limits.ts', LOWER],
  ['services do not import an area', 'src/services/jobs/plugin.ts', '#src/bookings/index.ts', LOWER],
  ['bookings do not import an area above them', 'src/bookings/guests.ts', '#src/alloggiati/index.ts', LOWER],
  ['an area does not import the administration', 'src/alloggiati/plugin.ts', '#src/administration/index.ts', LOWER],
  ['the administration does not import the app', 'src/administration/plugin.ts', '#src/app.ts', LOWER],
  ['an area imports only the index of an area beside it', 'src/identity/plugin.ts', '../bookings/guests.ts', INDEX],
  ['an area imports only the index of an area below it', 'src/alloggiati/plugin.ts', '#src/bookings/guests.ts', INDEX],
  ['the app imports only the index of an area', 'src/app.ts', './bookings/guests.ts', INDEX],
  ['the tool imports only the index of an area', 'src/cli/run-command.ts', '#src/identity/plugin.ts', INDEX],
  ['the tool does not import services', 'src/cli/run-command.ts', '#src/services/jobs/plugin.ts', /does not import the server/],
  ['the tool does not import the app', 'src/cli/run-command.ts', '../app.ts', /The tool does not import the server/],
  ['schemas do not import src', 'schemas/paging.ts', '#src/lib/paging.ts', /schemas imports no other folder/],
  ['schemas do not import drizzle', 'schemas/paging.ts', '#drizzle/tables/mail.ts', /schemas imports no other folder/],
  ['drizzle does not import src', 'drizzle/tables/mail.ts', '#src/lib/time.ts', /drizzle imports schemas only/],
  ['an area does not import the tables of another', 'src/bookings/guests.ts', '#drizzle/tables/identity.ts', TABLE],
  ['the administration imports no area table', 'src/administration/plugin.ts', '#drizzle/tables/bookings.ts', TABLE],
  ['a service does not import the table of another', 'src/services/mail/queue.ts', '#drizzle/tables/audit.ts', TABLE],
  ['the HTTP edge imports no table', 'src/http/rate-limits.ts', '#drizzle/tables/mail.ts', TABLE],
  ['the database imports no table', 'src/database/connect.ts', '#drizzle/tables/mail.ts', TABLE],
  ['lib imports no table', 'src/lib/time.ts', '#drizzle/tables/mail.ts', TABLE],
  ['the app imports no table', 'src/app.ts', '#drizzle/tables/mail.ts', TABLE],
  ['the codec does not import the ledger', 'src/alloggiati/codec/layout.ts', '../ledger/sending/carry-out.ts', /records does not import/],
  ['the rules do not import the ledger', 'src/alloggiati/rules/validate.ts', '../ledger/sending/carry-out.ts', /records does not import/],
  ['the tables do not import the ledger', 'src/alloggiati/tables/tabella.ts', '../ledger/sending/carry-out.ts', /records does not import/],
  ['production does not import tests', 'src/lib/time.ts', '#test/days.ts', /import no tests/],
  ['the reports import only the index of an area', 'src/reports/plugin.ts', '#src/identity/plugin.ts', INDEX],
  ['PDFs are on a lower floor than the areas', 'src/pdf/plugin.ts', '#src/alloggiati/index.ts', LOWER],
  ['the letters import no table of another area', 'src/letters/plugin.ts', '#drizzle/tables/bookings.ts', TABLE]
]

const copy = (file: string) => readFile(`${ROOT}/${file}`, 'utf8')

const linesOf = (imported: string) =>
  [`import '${imported}'`, `import type { X } from '${imported}'`, `await import('${imported}')`]

const linted = new Map<string, Promise<{ ofText: string[], ofLine: Map<string, string[]> }>>()

/** Lints a file once, with the lines of all its cases appended. */
function lintOnce (file: string) {
  const found = linted.get(file) ?? withAllLines(file)
  linted.set(file, found)
  return found
}

async function withAllLines (file: string) {
  const lines = forbidden.filter(([, of]) => of === file).flatMap(([, , each]) => linesOf(each))
  const { ofText, ofLines } = await findInLines(findImports, file, await copy(file), lines)
  return { ofText, ofLine: new Map(lines.map((line, at) => [line, ofLines[at]!])) }
}

const findProcess = finder(['no-restricted-globals', 'no-restricted-imports'])
const MESSAGE = /Only the entries of src read the process/
/** After an import of `process`, the name no longer means the global. So these groups are linted separately. */
const groups = [
  ['export const a = process.env.HOME', 'export const b = globalThis.process.env.HOME'],
  ["import { env } from 'node:process'", "import process from 'process'"]
]

/** Lint messages for each line appended to a file. */
async function judged (file: string): Promise<[line: string, messages: string[]][]> {
  const text = await readFile(`${ROOT}/${file}`, 'utf8')
  const found = await Promise.all(groups.map((lines) => findInLines(findProcess, file, text, lines)))
  return groups.flatMap((lines, of) => lines.map((line, at) => [line, found[of]!.ofLines[at]!] as [string, string[]]))
}

for (const [rule, file, imported, message] of forbidden) {
  t.test(`lint refuses a forbidden import: ${rule}`, async (t) => {
    const { ofText, ofLine } = await lintOnce(file)
    t.same(ofText, [], 'the unchanged file passes')
    for (const line of linesOf(imported)) t.match(ofLine.get(line), [message], line)
  })
}

t.test('lint refuses inline import types, whose path the import rules do not see', async (t) => {
  const text = await withLine('src/lib/time.ts', "export type X = import('#src/config/config.ts').Config")
  t.match(await lint('src/lib/time.ts', text), [/Import the type at the top/])
})

t.test('every folder and file of src belongs to a floor', async (t) => {
  const entries = await readdir(`${ROOT}/src`, { withFileTypes: true })
  // The demo builds the app, as the server does.
  for (const { name } of entries.filter((entry) => entry.isDirectory() && entry.name !== 'demo')) {
    t.strictNotSame(await lint(`src/${name}/plugin.ts`, "import '#src/app.ts'"), [], `${name} does not import the app`)
  }
  for (const { name } of entries.filter((entry) => entry.name.endsWith('.ts'))) {
    t.strictNotSame(await lint('src/lib/time.ts', `import '#src/${name}'`), [], `lib does not import ${name}`)
  }
})

t.test('lint refuses reading `process` in src outside its entries', async (t) => {
  for (const file of ['src/app.ts', 'src/loading.ts', 'src/lib/time.ts', 'src/cli/run-command.ts']) {
    for (const [line, messages] of await judged(file)) t.match(messages, [MESSAGE], `${file} ${line}`)
  }
})

t.test('the entries may read `process`', async (t) => {
  for (const file of ['src/server.ts', 'src/rotate-keys.ts', 'src/cli/index.ts', 'src/demo/index.ts']) {
    for (const [line, messages] of await judged(file)) t.same(messages, [], `${file} ${line}`)
  }
})
