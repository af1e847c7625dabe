import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { ERROR_SUBJECTS, isCatalogued, isCommon } from '#schemas/errors/catalogue.ts'
import { build } from './helper.ts'

const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8')).join('\n')
const codes = ERROR_SUBJECTS.flatMap(({ errors }) => Object.keys(errors))

interface Operation { operationId: string, responses: object, 'x-codici'?: Record<string, string[]> }

t.test('every error that the program defines is explained, with its status', async (t) => {
  const defined = [...sources.matchAll(/createError(?:<[^>]*>)?\(\s*'(\w+)',\s*(['`])[\s\S]*?\2,\s*(\d{3})/g)]
  t.ok(defined.length > 70, `${defined.length}`)
  t.same(defined.map(([, codice, , status]) => ({ codice, status: Number(status) }))
    .filter(({ codice, status }) => !isCatalogued(codice!, status)), [])
})

t.test('what is explained exists, and once', async (t) => {
  t.same(codes.filter((codice) => !new RegExp(`\\b${codice}\\b`).test(sources)), [])
  t.equal(new Set(codes).size, codes.length)
})

t.test('the page of errors has each code at an anchor of its own, and its links lead to something', async (t) => {
  const { app, call } = await build(t)
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
  t.match((await call('GET', '/openapi.json')).json().info.description, /\/docs\/errori/)
})

t.test('every error that is not of all requests is named by an operation, at a status that it declares', async (t) => {
  const { app } = await build(t)
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
