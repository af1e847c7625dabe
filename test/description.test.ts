import { execFile } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTypes, { astToString } from 'openapi-typescript'
import t from 'tap'
import ts from 'typescript'
import { ERROR_SUBJECTS, isCatalogued, isCommon } from '#schemas/errors/catalogue.ts'
import { API_KEY, build } from './helper.ts'

const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8')).join('\n')
const codes = ERROR_SUBJECTS.flatMap(({ errors }) => Object.keys(errors))
const { app } = await build(t, { ALLOGGIATI_MODE: 'sandbox' })

interface Operation { operationId: string, responses: object, 'x-codici'?: Record<string, string[]> }

t.test('every error that the program defines is explained, with its status', async (t) => {
  const defined = [...sources.matchAll(/createError(?:<[^>]*>)?\(\s*'(\w+)',\s*(['`])[\s\S]*?\2,\s*(\d{3})/g)]
  t.ok(defined.length > 70, `${defined.length}`)
  t.same(defined.map(([, codice, , status]) => ({ codice, status: Number(status) }))
    .filter(({ codice, status }) => !isCatalogued(codice!, status)), [])
})

t.test('every explained error exists, and once', async (t) => {
  t.same(codes.filter((codice) => !new RegExp(`\\b${codice}\\b`).test(sources)), [])
  t.equal(new Set(codes).size, codes.length)
})

t.test('the page of errors has each code at an anchor of its own, and its links lead to something', async (t) => {
  const page = await app.inject('/docs/errori')
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': /default-src 'none';style-src 'sha256-[\w+/=]+';/
  })
  t.same([...page.body.matchAll(/<h3 id="(\w+)">/g)].map(([, id]) => id), codes)
  const named = [...page.body.matchAll(/<code>(\/api\/[^<]+)<\/code>/g)].map(([, path]) => path!)
  const known = Object.keys(app.swagger().paths!)
  t.same(named.filter((path) => !known.includes(path)), [], 'addresses that a remedy names are described')
  t.match((await app.inject('/openapi.json')).json().info.description, /\/docs\/errori/)
})

t.test('every error that is not of all requests is named by an operation, at a status that it declares', async (t) => {
  const operations = Object.values(app.swagger().paths as Record<string, Record<string, Operation>>)
    .flatMap((methods) => Object.values(methods))
  const named = new Set(operations.flatMap((operation) => Object.values(operation['x-codici'] ?? {}).flat()))
  // Told in the form of the storage protocol alone.
  for (const code of ['OGGETTO_ESISTENTE', 'BUCKET_NON_TROVATO']) named.add(code)
  t.same(codes.filter((codice) => !isCommon(codice) && !named.has(codice)), [])
  for (const { operationId, responses, 'x-codici': own = {} } of operations) {
    for (const [status, list] of Object.entries(own)) {
      t.ok(status in responses, `${operationId} ${status}`)
      t.same(list.filter((codice) => !isCatalogued(codice, Number(status))), [], operationId)
    }
  }
})

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

  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  // Node strips no types in node_modules.
  const { outputText } = ts.transpileModule(readFileSync(join(folder, 'tour.ts'), 'utf8'), {
    compilerOptions: { target: ts.ScriptTarget.ES2024, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
  })
  writeFileSync(join(folder, 'tour.mjs'), outputText)
  const { stdout } = await run(process.execPath, [join(folder, 'tour.mjs'), address, API_KEY])
  t.match(stdout, /^booking \d+: .+\n$/)
})
