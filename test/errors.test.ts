import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { ERROR_SUBJECTS, isCatalogued } from '#schemas/errors/catalogue.ts'
import { build } from './helper.ts'

const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8')).join('\n')
const codes = ERROR_SUBJECTS.flatMap(({ errors }) => Object.keys(errors))

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
