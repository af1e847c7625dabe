import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTypes, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import t from 'tap'
import { API_KEY, build } from './helper.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

t.test('types made from the description are strict enough to write against, and what is written works', async (t) => {
  // In the project, so that the client is found.
  const folder = join(PROJECT, `node_modules/.cache/typed-client-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const description = JSON.parse(readFileSync(join(PROJECT, 'fixtures/openapi.json'), 'utf8'))
  writeFileSync(join(folder, 'schema.ts'), astToString(await openapiTypes(description)))
  copyFileSync(join(PROJECT, 'fixtures/typed-client/tour.ts'), join(folder, 'tour.ts'))
  // All that it takes of Node's own types, which are a third of what would be read otherwise.
  const ofNode = 'declare const process: { argv: string[], stdout: { write (text: string): boolean } }\n'
  writeFileSync(join(folder, 'node.d.ts'), ofNode)

  const program = ts.createProgram(['tour.ts', 'node.d.ts'].map((name) => join(folder, name)), {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    // Of what is written here, not of the packages' own declarations.
    skipLibCheck: true,
    types: []
  })
  const faults = ts.getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  t.same(faults, [])

  const { app } = await build(t, { ALLOGGIATI_MODE: 'sandbox' })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  // Node strips no types in node_modules.
  const { outputText } = ts.transpileModule(readFileSync(join(folder, 'tour.ts'), 'utf8'), {
    compilerOptions: { target: ts.ScriptTarget.ES2024, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
  })
  writeFileSync(join(folder, 'tour.mjs'), outputText)
  const { stdout } = await run(process.execPath, [join(folder, 'tour.mjs'), address, API_KEY])
  t.match(stdout, /^booking \d+: .+\n$/)
})
