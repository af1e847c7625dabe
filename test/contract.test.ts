import { execFile } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { RouteOptions } from 'fastify'
import openapiTypes, { astToString } from 'openapi-typescript'
import t from 'tap'
import ts from 'typescript'
import { ERROR_SUBJECTS, isCatalogued, isCommon } from '#schemas/errors/catalogue.ts'
import { isDay } from '#src/lib/time.ts'
import { buildSerializer, buildValidator, createAjv, sharing } from '#src/http/validation.ts'
import { withResponses } from '#test/fuzz/document.ts'
import { API_KEY, build } from './helper.ts'
import { type OpenApi, OpenApiShape } from './openapi-shape.ts'
import { openness, type Schema, walk } from './schema-walk.ts'

const GOLDEN = new URL('../fixtures/openapi.json', import.meta.url)

/** Objects that may have any fields according to the contract. */
const OPEN_OBJECTS = new Set([
  ...['ospiti[]', 'prenotazione', 'soggiorno'].flatMap((place) =>
    ['valida', 'invio', 'file'].map((route) => `POST /api/alloggiati/${route} ${place}`)
  ),
  ...['ospiti[]', 'prenotazione', 'soggiorno'].map((place) => `POST /api/v1/invii/deposito ${place}`),
  'POST /api/generate-pdf data',
  'POST /api/generate-template rows[]',
  // The same data, in the preview of a template.
  'POST /api/v1/templates/:id/preview data',
  'POST /api/v1/templates/valida esempio',
  'PUT /api/v1/templates/:id esempio'
])

/**
 * Clients of the identity and storage protocols send fields that are ignored, so these schemas are open, but limited.
 */
const isProviders = (at: string) => / \/(?:auth|storage)\/v1\//.test(at)

const ANY_CREDENTIAL = [{ apiKey: [] }, { apiKeyQuery: [] }, { bearer: [] }]

const SECURITY = {
  public: [],
  cookie: undefined,
  user: [{ bearer: [] }],
  optional: [{}, ...ANY_CREDENTIAL],
  auth: ANY_CREDENTIAL,
  admin: ANY_CREDENTIAL
}

/** Routes that need no credentials. */
const PUBLIC = [
  'GET /api/config',
  'GET /api/settings/features',
  'GET /api/version',
  'GET /health/live',
  'GET /health/ready',
  'GET /openapi.json',
  'GET /sitemap.xml',
  'GET /auth/v1/.well-known/jwks.json',
  'GET /auth/v1/.well-known/openid-configuration',
  'GET /auth/v1/authorize',
  'GET /auth/v1/callback',
  'GET /auth/v1/health',
  'GET /auth/v1/settings',
  'GET /auth/v1/verify',
  'POST /auth/v1/callback',
  'POST /auth/v1/otp',
  'POST /auth/v1/passkeys/authentication/options',
  'POST /auth/v1/passkeys/authentication/verify',
  'POST /auth/v1/recover',
  'POST /auth/v1/resend',
  'POST /auth/v1/signup',
  'POST /auth/v1/token',
  'POST /auth/v1/verify',
  'GET /storage/v1/object/info/public/:bucket/*',
  'GET /storage/v1/object/public/:bucket/*',
  // A token in the query replaces the credentials.
  'GET /storage/v1/object/sign/:bucket/*',
  'GET /storage/v1/render/image/public/:bucket/*',
  'GET /storage/v1/render/image/sign/:bucket/*',
  'PUT /storage/v1/object/upload/sign/:bucket/*'
]

/** A body that is not JSON is described, but not validated. */
const isBytes = (part: unknown) => 'content' in (part as object)

/** A URL in the form of the description. */
const described = (name: string) => name.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{filename}')

/** A booking may be sent back whole: its read-only fields are accepted and ignored. */
const IGNORED = new Set([
  ...['id', 'ospiti', 'created_at', 'updated_at'].map((place) => `PUT /api/v1/prenotazioni/:id ${place}`),
  'PUT /api/v1/unita/:id id',
  ...['id', 'versione', 'updated_at'].map((place) => `PUT /api/v1/strutture/:id ${place}`)
])

const all: RouteOptions[] = []
const shared: Record<string, Schema> = {}
const { app } = await build(t, { PUBLIC_URL: 'https://locanda.example' }, (app) => {
  app.addHook('onRoute', function collect (route) {
    all.push(route)
    Object.assign(shared, this.getSchemas())
  })
})
const written: OpenApi = JSON.parse(JSON.stringify(app.swagger()))
const document = withResponses(written)
const routes = all.filter(({ method, schema }) => method !== 'HEAD' && !schema?.hide)
const named = routes.map((route) => ({
  name: `${String(route.method)} ${route.url}`,
  schema: route.schema ?? {},
  access: route.config?.access,
  config: route.config ?? {}
}))
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, ...operation }))
)

t.test('every route is described, and every described operation is a route', async (t) => {
  t.ok(routes.length >= 18)
  t.same(operations.map(({ name }) => name).sort(), named.map(({ name }) => described(name)).sort())
})

t.test('every operation has a unique operationId, a unique summary and a known tag', async (t) => {
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length)
  t.equal(new Set(operations.map(({ summary }) => summary)).size, operations.length)
  t.same(
    operations.filter(({ tags }) => tags.length !== 1 || !document.tags.some(({ name }) => name === tags[0])),
    []
  )
})

t.test('every parameter of every operation has a description', async (t) => {
  const parameters = operations.flatMap(({ name, parameters = [] }) =>
    parameters.map(({ in: place, name: parameter, description = '' }) => ({
      at: `${name} ${place} ${parameter}`, description
    })))
  t.same(parameters.filter(({ description }) => description.trim() === '').map(({ at }) => at), [])
  t.ok(parameters.length > 300, String(parameters.length))
})

t.test('every request schema is closed and limited at every depth', async (t) => {
  const found = named.flatMap(({ name, schema }) =>
    [schema.body, schema.querystring, schema.params, schema.headers].flatMap((part) =>
      part === undefined || isBytes(part)
        ? []
        : [...walk(part as Schema, shared)].map(([place, inner]) => ({
            at: `${name} ${place}`,
            problem: openness(inner)
          }))
    )
  )
  const problems = found.filter(
    ({ at, problem }) => problem !== undefined && !(isProviders(at) && problem === 'is an open object')
  )
  t.same(problems.filter(({ at }) => !OPEN_OBJECTS.has(at) && !IGNORED.has(at)), [])
  t.same(
    problems
      .filter(({ problem }) => problem === 'is an open object')
      .map(({ at }) => at)
      .sort(),
    [
      'POST /api/alloggiati/file ospiti[]', 'POST /api/alloggiati/file prenotazione',
      'POST /api/alloggiati/file soggiorno', 'POST /api/alloggiati/invio ospiti[]',
      'POST /api/alloggiati/invio prenotazione', 'POST /api/alloggiati/invio soggiorno',
      'POST /api/alloggiati/valida ospiti[]', 'POST /api/alloggiati/valida prenotazione',
      'POST /api/generate-pdf data', 'POST /api/generate-template rows[]', 'POST /api/v1/invii/deposito ospiti[]',
      'POST /api/v1/invii/deposito prenotazione', 'POST /api/v1/invii/deposito soggiorno',
      'POST /api/v1/templates/:id/preview data', 'POST /api/v1/templates/valida esempio',
      'PUT /api/v1/templates/:id esempio'
    ],
    'open only where the contract says so'
  )
  t.ok(found.length > 100, 'the walk reaches nested schemas')
})

t.test('every schema compiles, which the server does only on first use', async (t) => {
  const validators = buildValidator(shared)
  const serializers = buildSerializer(shared, {})
  // Equal schemas are compiled once, like in the server.
  const once = sharing<unknown>()
  let compiled = 0
  for (const { url, method: methods, schema } of routes) {
    const method = String(methods)
    for (const httpPart of ['body', 'querystring', 'params'] as const) {
      const part = schema?.[httpPart]
      if (typeof part !== 'object' || part === null || isBytes(part)) continue
      const compile = () => validators({ schema: part, url, method, httpPart })
      t.doesNotThrow(() => once([httpPart === 'body', part], compile), `${url} ${httpPart}`)
      compiled++
    }
    for (const [httpStatus, part] of Object.entries((schema?.response ?? {}) as Record<string, object>)) {
      if (isBytes(part)) continue
      const compile = () => serializers({ schema: part, url, method, httpStatus })
      t.doesNotThrow(() => once(part, compile), `${url} ${httpStatus}`)
      compiled++
    }
  }
  t.ok(compiled > 2 * routes.length, String(compiled))
})

t.test('routes with a path parameter or a body method declare what they accept', async (t) => {
  t.same(named.filter(({ name, schema }) => name.includes(':') && !schema.params).map(({ name }) => name), [])
  t.same(
    named.filter(({ name, schema }) => /^(POST|PUT|PATCH) /.test(name) && !schema.body).map(({ name }) => name),
    []
  )
})

t.test('nullable values have a type array, and never a union, because a union would be coerced', async (t) => {
  const parts = named.flatMap(({ name, schema }) =>
    [schema.body, schema.querystring, schema.params, ...Object.values(schema.response ?? {})].flatMap((part) =>
      part === undefined || isBytes(part) ? [] : [...walk(part as Schema, shared, name)]
    )
  )
  t.same(
    parts.filter(([, { anyOf, oneOf }]) =>
      [anyOf, oneOf].flatMap((branches) => branches ?? []).some(({ type }) => type === 'null')
    ),
    []
  )
})

t.test('every route has a schema for its success and for every error', async (t) => {
  for (const { name, schema } of named) {
    const statuses = Object.keys(schema.response ?? {})
    t.ok(statuses.some((status) => /^(2\d\d|30[23])$/.test(status)), `${name}: success`)
    t.ok(statuses.includes('4xx') && statuses.includes('5xx'), `${name}: errors`)
  }
})

t.test('every error of every operation is described as JSON', async (t) => {
  const wrong = operations.flatMap(({ name, responses }) =>
    Object.entries(responses)
      .filter(
        ([status, { content }]) => /^[45]/.test(status) && Object.keys(content ?? {}).join() !== 'application/json'
      )
      .map(([status]) => `${name} ${status}`)
  )
  t.same(wrong, [])
})

t.test('every route declares its access, and only the listed ones are public', async (t) => {
  t.same(named.filter(({ access }) => access === undefined), [])
  t.same(named.filter(({ access }) => access === 'public').map(({ name }) => name).sort(), [...PUBLIC].sort())
  for (const { name, security } of operations) {
    const access = named.find((route) => described(route.name) === name)?.access
    t.same(security, access === undefined ? 'an access' : SECURITY[access], `${name} documents it`)
  }
})

t.test('operations document the key scope that they need, and whether a second factor must be recent', async (t) => {
  for (const { name, access, config: { recentFactor = false } } of named) {
    const { description = '' } = operations.find((each) => each.name === described(name))!
    const isByKey = access === 'optional' || access === 'auth' || access === 'admin'
    t.equal(description.includes('chiave personale deve'), isByKey, `${name}: scope`)
    t.equal(description.includes('SECONDO_FATTORE_RECENTE'), recentFactor, `${name}: second factor`)
  }
})

t.test('every body and response, even of errors, has an example, and every example is valid', async (t) => {
  const ajv = createAjv({ strict: false, coerceTypes: false })
    .addFormat('binary', true)
    .addFormat('date', isDay)
    .addSchema(document, 'openapi')
  // Equal schemas are compiled once, because every operation repeats those of errors.
  const once = sharing<ValidateFunction>()
  const validator = (schema: object, reference: string) => once(schema, () => ajv.compile({ $ref: reference }))
  const pointer = (...path: string[]) =>
    'openapi#/' + path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries(methods)) {
      const places = [
        ...Object.entries(requestBody?.content ?? {}).map(([type, media]) => ({
          type,
          media,
          at: ['requestBody', 'content', type]
        })),
        ...Object.entries(responses).flatMap(([status, { content }]) =>
          Object.entries(content ?? {}).map(([type, media]) => ({
            type,
            media,
            at: ['responses', status, 'content', type]
          }))
        )
      ].filter(({ type }) => type === 'application/json')
      for (const { media, at } of places) {
        const where = `${method.toUpperCase()} ${path} ${at.join(' ')}`
        const examples = Object.values(examplesOf(media))
        t.ok(examples.length > 0 || hasExample(media.schema), `${where} has an example`)
        const validate = validator(media.schema, pointer('paths', path, method, ...at, 'schema'))
        for (const example of examples) {
          t.ok(validate(example), `${where}: the example is valid`, { errors: validate.errors })
        }
      }
    }
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const validate = validator(schema, pointer('components', 'schemas', name))
    for (const example of (schema as { examples?: unknown[] }).examples ?? []) {
      t.ok(validate(example), `${name}: the example is valid`, { errors: validate.errors })
    }
  }

  /** Viewers combine the examples of parts. */
  function hasExample (schema: Schema & { examples?: unknown[], required?: string[] }): boolean {
    if (schema.examples?.length || schema.enum || schema.type === 'boolean') return true
    // An error consists of its body and its codes.
    if (schema.allOf) return hasExample(schema.allOf[0]!)
    if (schema.$ref) return hasExample(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})
    const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
    return [...required.map(([, part]) => part), ...(schema.items ? [schema.items] : [])].every(hasExample)
  }
})

t.test('the schema of an error lists its codes, and no optional parameter has a prefilled value', async (t) => {
  const { paths } = document
  const codesOf = (answer: unknown) =>
    (answer as Coding).content?.['application/json']?.schema.allOf?.[1]?.properties.codice.enum ?? []
  const { responses: { 404: absent, 409: taken, '4XX': rest } } = paths['/api/v1/prenotazioni/{id}/invio']!.post!
  t.strictSame(codesOf(absent), ['PRENOTAZIONE_NON_TROVATA', 'RICHIESTA_NON_VALIDA', 'RISORSA_NON_TROVATA'])
  t.ok(['INVIO_IN_CORSO', 'IDEMPOTENCY_KEY_IN_CORSO'].every((code) => codesOf(taken).includes(code)))
  t.ok(['METODO_NON_AMMESSO', 'TIPO_NON_SUPPORTATO'].every((code) => codesOf(rest).includes(code)))
  t.notOk(codesOf(paths['/api/v1/prenotazioni/{id}']!.get!.responses['4XX']!).includes('IDEMPOTENCY_KEY_RIUSATA'))
  for (const { name, responses, 'x-codici': own = {} } of operations) {
    for (const [status, codes] of Object.entries(own)) {
      t.same(codes.filter((code) => !codesOf(responses[status]).includes(code)), [], `${name} ${status}`)
    }
  }
  const optional = Object.values(paths).flatMap((methods) => Object.values(methods))
    .flatMap(({ parameters = [] }) => parameters.filter(({ required }) => required !== true))
  t.ok(optional.length > 50)
  t.same(optional.filter((parameter) => 'example' in parameter), [])
})

t.test('a body that may be null is optional', async (t) => {
  const bodies = operations.flatMap(({ name, requestBody }) => requestBody === undefined ? [] : [{ name, requestBody }])
  const nullable = bodies.filter(({ requestBody: { content } }) =>
    Object.values(content).every(({ schema }) => [(schema as Schema).type].flat().includes('null')))
  t.ok(nullable.some(({ name }) => name === 'POST /api/v1/prenotazioni/{id}/schedine'))
  t.same(nullable.filter(({ requestBody }) => 'required' in requestBody).map(({ name }) => name), [])
  t.ok(bodies.some(({ requestBody }) => 'required' in requestBody))
})

interface Coding {
  content?: Record<string, { schema: { allOf?: { properties: { codice: { enum: string[] } } }[] } }>
}

t.test('an operation declares the errors of Idempotency-Key and of ranges', async (t) => {
  for (const { name, config } of named) {
    const { responses, 'x-codici': codes = {} } = operations.find((each) => each.name === described(name))!
    const keyed = ['409', '422'].filter((status) => codes[status]?.some((code) => code.startsWith('IDEMPOTENCY_')))
    t.same(keyed, config.idempotent ? ['409', '422'] : [], `${name}: its key`)
    if (!('206' in responses)) continue
    t.ok('416' in responses, `${name}: a range beyond the end`)
    if (!isProviders(name)) t.ok(codes['416']?.includes('INTERVALLO_NON_VALIDO'), `${name}: its code`)
  }
})

t.test('the example of a response has its status, and a code of the catalogue for that status', async (t) => {
  let seen = 0
  for (const { name, responses } of operations) {
    for (const [status, { content }] of Object.entries(responses)) {
      for (const [at, example] of Object.entries(examplesOf(content?.['application/json']))) {
        if (typeof example !== 'object' || example === null || /XX$/.test(status)) continue
        const where = `${name} ${status} ${at}`
        if ('status' in example && typeof example.status === 'number') t.equal(example.status, Number(status), where)
        if ('codice' in example) t.ok(isCatalogued(String(example.codice), Number(status)), `${where} codice`)
        seen++
      }
    }
  }
  t.ok(seen > 30, String(seen))
})

t.test('the description is valid OpenAPI 3.1', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const validate = ajv.compile(OpenApiShape)
  t.ok(validate(written), 'its shape', { errors: validate.errors })
  const schemas = [...nested(document)]
    .flatMap((node) => ('schema' in node ? [node.schema as object] : []))
    .concat(Object.values(document.components.schemas))
  t.same(
    schemas.filter((schema) => !ajv.validateSchema(schema)),
    [],
    'its schemas, by the meta-schema of JSON Schema 2020-12'
  )
  for (const { name, parameters = [] } of operations) {
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    t.same(
      inPath.map((parameter) => parameter.name).sort(),
      [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).sort(),
      `${name}: its path parameters`
    )
    t.ok(inPath.every(({ required }) => required))
  }
})

t.test('the description equals the recorded one', async (t) => {
  // To record an intended change, set RENEW=1 in the environment, and review the difference.
  if (process.env.RENEW) writeFileSync(GOLDEN, JSON.stringify(written, null, 2) + '\n')
  t.same(
    written,
    JSON.parse(readFileSync(GOLDEN, 'utf8')),
    'if the change is intended: RENEW=1 node test/contract.test.ts, then review the diff of fixtures/openapi.json'
  )
  t.same((await app.inject('/openapi.json')).json(), written, '/openapi.json returns the description')
})

interface Examples { example?: unknown, examples?: Record<string, { value: unknown }> }

/** The examples of a body, by name. */
function examplesOf (media: Examples | undefined): Record<string, unknown> {
  return {
    ...media && 'example' in media && { example: media.example },
    ...Object.fromEntries(Object.entries(media?.examples ?? {}).map(([at, { value }]) => [at, value]))
  }
}

function * nested (value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield * nested(inner)
}

const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8')).join('\n')
const codes = ERROR_SUBJECTS.flatMap(({ errors }) => Object.keys(errors))

interface Coded { operationId: string, responses: object, 'x-codici'?: Record<string, string[]> }

t.test('every error that the code defines is in the catalogue with its status', async (t) => {
  const defined = [...sources.matchAll(/createError(?:<[^>]*>)?\(\s*'(\w+)',\s*(['`])[\s\S]*?\2,\s*(\d{3})/g)]
  t.ok(defined.length > 70, `${defined.length}`)
  t.same(defined.map(([, codice, , status]) => ({ codice, status: Number(status) }))
    .filter(({ codice, status }) => !isCatalogued(codice!, status)), [])
})

t.test('every error of the catalogue exists in the code, and is listed once', async (t) => {
  t.same(codes.filter((codice) => !new RegExp(`\\b${codice}\\b`).test(sources)), [])
  t.equal(new Set(codes).size, codes.length)
})

t.test('the errors page has an anchor for each code, and the paths that it names exist', async (t) => {
  const page = await app.inject('/docs/errori')
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': /default-src 'none';style-src 'sha256-[\w+/=]+';/
  })
  t.same([...page.body.matchAll(/<h3 id="(\w+)">/g)].map(([, id]) => id), codes)
  const named = [...page.body.matchAll(/<code>(\/api\/[^<]+)<\/code>/g)].map(([, path]) => path!)
  const known = Object.keys(app.swagger().paths!)
  t.same(named.filter((path) => !known.includes(path)), [], 'paths named in remedies are described')
  t.match((await app.inject('/openapi.json')).json().info.description, /\/docs\/errori/)
})

t.test('every error that is not common is declared by an operation, for a status of its responses', async (t) => {
  const operations = Object.values(app.swagger().paths as Record<string, Record<string, Coded>>)
    .flatMap((methods) => Object.values(methods))
  const named = new Set(operations.flatMap((operation) => Object.values(operation['x-codici'] ?? {}).flat()))
  // These occur only in the format of the storage protocol.
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

t.test('types generated from the description are strict, and a client written with them works', async (t) => {
  // The folder is inside the project, so that the client's imports are found.
  const folder = join(PROJECT, `node_modules/.cache/typed-client-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const description = JSON.parse(readFileSync(join(PROJECT, 'fixtures/openapi.json'), 'utf8'))
  writeFileSync(join(folder, 'schema.ts'), astToString(await openapiTypes(description)))
  copyFileSync(join(PROJECT, 'fixtures/typed-client/tour.ts'), join(folder, 'tour.ts'))
  // The only Node types that the client needs. All of Node's types would be a third of the input.
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
    // Checks this code, but not the declarations of packages.
    skipLibCheck: true,
    types: []
  })
  const faults = ts.getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  t.same(faults, [])

  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  // Node does not strip types in node_modules.
  const { outputText } = ts.transpileModule(readFileSync(join(folder, 'tour.ts'), 'utf8'), {
    compilerOptions: { target: ts.ScriptTarget.ES2024, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
  })
  writeFileSync(join(folder, 'tour.mjs'), outputText)
  const { stdout } = await run(process.execPath, [join(folder, 'tour.mjs'), address, API_KEY])
  t.match(stdout, /^booking \d+: .+\n$/)
})
