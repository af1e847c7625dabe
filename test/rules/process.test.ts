import { readFile } from 'node:fs/promises'
import t from 'tap'
import { finder, findInLines, ROOT } from './lint.ts'

const find = finder(['no-restricted-globals', 'no-restricted-imports'])
const MESSAGE = /Only the entries of src read the process/
/** What imports `process` has none of the global one: it is linted apart. */
const groups = [
  ['export const a = process.env.HOME', 'export const b = globalThis.process.env.HOME'],
  ["import { env } from 'node:process'", "import process from 'process'"]
]

/** What is said of each of the lines at the end of a file. */
async function judged (file: string): Promise<[line: string, messages: string[]][]> {
  const text = await readFile(`${ROOT}/${file}`, 'utf8')
  const found = await Promise.all(groups.map((lines) => findInLines(find, file, text, lines)))
  return groups.flatMap((lines, of) => lines.map((line, at) => [line, found[of]!.ofLines[at]!] as [string, string[]]))
}

t.test('lint refuses to read the process anywhere in src', async (t) => {
  for (const file of ['src/app.ts', 'src/loading.ts', 'src/lib/time.ts', 'src/cli/run.ts']) {
    for (const [line, messages] of await judged(file)) t.match(messages, [MESSAGE], `${file} ${line}`)
  }
})

t.test('the entries read the process', async (t) => {
  for (const file of ['src/server.ts', 'src/rotate-keys.ts', 'src/cli/index.ts']) {
    for (const [line, messages] of await judged(file)) t.same(messages, [], `${file} ${line}`)
  }
})
