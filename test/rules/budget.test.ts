import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { BUDGETS, FUNCTION_LINES, PATCH_LINES, SHARED_NAMES } from './budget.ts'
import { ROOT } from './lint.ts'

const filesIn = (folder: string, end = '.ts') => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith(end)).map((name) => join(folder, name))
const linesOf = (file: string) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1
const sum = (files: readonly string[]) => files.reduce((lines, file) => lines + linesOf(file), 0)

for (const { folders, lines, files } of BUDGETS) {
  t.test(`${folders.join(', ')} keep their budget of lines and files`, async (t) => {
    const found = folders.flatMap((folder) => filesIn(folder))
    t.ok(sum(found) <= lines, `${sum(found)} of ${lines} lines`)
    t.ok(found.length <= files, `${found.length} of ${files} files`)
  })
}

t.test('the patches to packages keep their budget of lines', async (t) => {
  const lines = sum(filesIn('.patches', '.patch'))
  t.ok(lines <= PATCH_LINES, `${lines} of ${PATCH_LINES} lines`)
})

t.test('the names of files are unique in src', async (t) => {
  const names = filesIn('src').map((file) => basename(file)).filter((name) => !SHARED_NAMES.includes(name))
  t.same(names.filter((name, at) => names.indexOf(name) !== at), [])
})

t.test(`no function of src has more than ${FUNCTION_LINES} lines of code, without its inner functions`, async (t) => {
  for (const file of filesIn('src')) t.same(longFunctions(file), [], file)
})

type FunctionNode = ts.FunctionLikeDeclaration

function isFunction (node: ts.Node): node is FunctionNode {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined
}

/** First line and length of each function that is too long. */
function longFunctions (file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true)
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
  const range = (node: ts.Node) => {
    const [from, to] = [lineOf(node.getStart(source)), lineOf(node.end)]
    return Array.from({ length: to - from + 1 }, (_, at) => from + at)
  }
  const code = new Set<number>()
  const long: string[] = []

  function collectCode (node: ts.Node): void {
    const children = node.getChildren(source)
    if (children.length === 0 && node.getWidth(source) > 0) for (const line of range(node)) code.add(line)
    children.forEach(collectCode)
  }

  function without (inner: ts.Node, lines: Set<number>): void {
    if (isFunction(inner) && ts.isBlock(inner.body!)) for (const line of range(inner).slice(0, -1)) lines.delete(line)
    else ts.forEachChild(inner, (child) => without(child, lines))
  }

  function visit (node: ts.Node): void {
    if (isFunction(node)) {
      const own = new Set(range(node).filter((line) => code.has(line)))
      ts.forEachChild(node, (child) => without(child, own))
      if (own.size > FUNCTION_LINES) long.push(`line ${lineOf(node.getStart(source)) + 1}: ${own.size} lines`)
    }
    ts.forEachChild(node, visit)
  }

  collectCode(source)
  visit(source)
  return long
}
