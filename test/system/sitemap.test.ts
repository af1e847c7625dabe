import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { validateXML } from 'xmllint-wasm'
import { testDatabase } from '#test/database.ts'
import { build, extraRoutes } from '#test/helper.ts'

/** The schema of sitemaps.org, as the package carries it. */
const SCHEMA = readFileSync(new URL('../../node_modules/sitemap/schema/sitemap.xsd', import.meta.url), 'utf8')

/** For all applications: none of them writes anything. */
const { url: DATABASE_URL } = await testDatabase(t)

/** Of each sitemap. */
async function locations (t: Test, ...sitemaps: readonly string[]): Promise<string[][]> {
  const { valid, errors } = await validateXML({
    xml: sitemaps.map((contents, n) => ({ fileName: `sitemap-${n}.xml`, contents })),
    schema: { fileName: 'sitemap.xsd', contents: SCHEMA },
    maxMemoryPages: 8192
  })
  t.ok(valid, 'valid by the schema of sitemaps.org', { errors })
  return sitemaps.map((xml) => [...xml.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, location]) => location!))
}

t.test('the sitemap lists the public pages by their whole addresses, and anybody can open them', async (t) => {
  const { app } = await build(t, { DATABASE_URL, PUBLIC_URL: 'https://locanda.example/' })
  const answer = await app.inject('/sitemap.xml')
  t.equal(answer.statusCode, 200)
  t.match(answer.headers, { 'content-type': 'application/xml; charset=utf-8', 'cache-control': 'public, max-age=3600' })
  t.same(await locations(t, answer.body), [['https://locanda.example/docs']])
  for (const page of app.publicPages) {
    const { statusCode, headers } = await app.inject(page)
    t.ok(statusCode === 200 || (statusCode === 302 && String(headers.location).includes(page)), page)
  }
})

t.test('an address of any form gives a valid sitemap', async (t) => {
  const addresses = {
    'https://locanda.example/case/al&mare/': 'https://locanda.example/case/al&amp;mare/docs',
    'https://locanda.example:8443/a': 'https://locanda.example:8443/a/docs',
    'https://città.example/è"\'<>]]>|%zz': 'https://xn--citt-3na.example/%C3%A8%22&#39;%3C%3E%5D%5D%3E%7C%25zz/docs',
    'http://[::1]:3000': 'http://[::1]:3000/docs',
    'http://127.0.0.1:3000': 'http://127.0.0.1:3000/docs'
  }
  const sitemaps: string[] = []
  for (const address of Object.keys(addresses)) {
    const { app } = await build(t, { DATABASE_URL, PUBLIC_URL: address })
    sitemaps.push((await app.inject('/sitemap.xml')).body)
    await app.close()
  }
  t.same(await locations(t, ...sitemaps), Object.values(addresses).map((location) => [location]))
})

t.test('a page is listed once, and 50,000 pages at most', async (t) => {
  const { app } = await build(t, { DATABASE_URL, PUBLIC_URL: 'https://locanda.example' }, extraRoutes((instance) => {
    for (let at = 1; at < 50_000; at++) instance.addPublicPage(`/pagina/${at}?a=1&b=2`)
    instance.addPublicPage('/docs')
    t.throws(() => instance.addPublicPage('/una-di-troppo'))
    t.throws(() => instance.addPublicPage('pagina'))
  }))
  const [listed = []] = await locations(t, (await app.inject('/sitemap.xml')).body)
  t.equal(listed.length, 50_000)
  t.equal(listed[0], 'https://locanda.example/docs')
  t.equal(listed[1], 'https://locanda.example/pagina/1?a=1&amp;b=2')
})

t.test('the schema refuses what is no sitemap', async (t) => {
  const { valid } = await validateXML({
    xml: '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url/></urlset>',
    schema: SCHEMA
  })
  t.notOk(valid)
})
