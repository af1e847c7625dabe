import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { validateXML } from 'xmllint-wasm'
import { checkedOutCommit, commitOf, taggedVersion, versionOf } from '#src/lib/checkout.ts'
import { addDays } from '#src/lib/time.ts'
import { create } from '#test/bookings/samples.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import manifest from '../../package.json' with { type: 'json' }

const WIDGET = '/api/widget/data'
const COUNTRIES = '/api/map/top-countries'
const ITALY = 380
const GERMANY = 276
const FRANCE = 250
const server = await build(t, { TODAY: '2026-11-22' })
const { app, call } = server

t.beforeEach(async () => {
  await app.sql`delete from prenotazioni`
})

t.test('GET /api/widget/data: an empty house has no arrivals, no departures and an empty next guest', async (t) => {
  const answer = await call('GET', WIDGET)
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), { todayArrivals: 0, todayDepartures: 0, nextGuest: '' })
})

for (const [name, today] of [
  ['a leap day', '2028-02-29'],
  ['the day on which summer time begins', '2026-03-29'],
  ['the day on which it ends', '2026-10-25'],
  ['the last day of a year', '2026-12-31']
] as const) {
  t.test(`GET /api/widget/data counts the arrivals and departures of ${name}, and of no day beside it`, async (t) => {
    const ofThatDay = await build(t, { TODAY: today, DATABASE_URL: server.url })
    const stays: [arrival: number, nights: number][] = [[-2, 1], [-1, 1], [-2, 2], [0, 3], [0, 1], [1, 1]]
    for (const [arrival, nights] of stays) {
      await create(call, { check_in: addDays(today, arrival), numero_notti: nights })
    }
    t.match((await ofThatDay.call('GET', WIDGET)).json(), { todayArrivals: 2, todayDepartures: 2 })
  })
}

t.test('nextGuest is the main guest of the next arrival from today on, the first booked of a day', async (t) => {
  const next = async () => ((await server.call('GET', WIDGET)).json() as { nextGuest: string }).nextGuest
  await create(server.call, { nome_cognome: 'Anna Ieri', check_in: '2026-11-21' })
  t.equal(await next(), '', 'who came yesterday is no next guest')
  await create(server.call, { nome_cognome: 'Bruno Domani', check_in: '2026-11-23' })
  await create(server.call, { nome_cognome: 'Carla Domani', check_in: '2026-11-23' })
  t.equal(await next(), 'Bruno Domani')
  await create(server.call, { nome_cognome: 'Dario Oggi', check_in: '2026-11-22' })
  t.equal(await next(), 'Dario Oggi')
})

t.test('GET /api/map/top-countries counts bookings by country, most first, with Italian names', async (t) => {
  for (const paese_id of [GERMANY, ITALY, GERMANY, FRANCE, ITALY, GERMANY]) await create(server.call, { paese_id })
  t.same((await server.call('GET', COUNTRIES)).json(), [
    { country: 'Germania', count: 3 },
    { country: 'Italia', count: 2 },
    { country: 'Francia', count: 1 }
  ])
  t.same((await server.call('GET', `${COUNTRIES}?limit=1`)).json(), [{ country: 'Germania', count: 3 }])
})

t.test('a number that is no country of ISO 3166-1 is shown as it is', async (t) => {
  await create(server.call, { paese_id: 99_999 })
  t.same((await server.call('GET', COUNTRIES)).json(), [{ country: 'Paese 99999', count: 1 }])
})

t.test('limit is 10 unless the caller says otherwise, and at most 250', async (t) => {
  for (let paese_id = 1; paese_id <= 12; paese_id++) await create(server.call, { paese_id })
  const count = async (query = '') => ((await server.call('GET', COUNTRIES + query)).json() as unknown[]).length
  t.equal(await count(), 10)
  t.equal(await count('?limit=250'), 12)
  for (const limit of ['0', '-1', '251', '1.5', 'molti', '1e400']) {
    const answer = await server.call('GET', `${COUNTRIES}?limit=${limit}`)
    t.match(answer.json(), { status: 400, dettagli: [{ campo: 'limit' }] }, limit)
  }
})

t.test('the counts are those of the bookings, whatever two servers create, change and delete', async (t) => {
  const first = server
  const second = await build(t, { DATABASE_URL: first.url, DATA_DIR: first.dataDir })
  const country = fc.constantFrom(ITALY, GERMANY, FRANCE)
  const step = fc.oneof(
    fc.record({ kind: fc.constant('create' as const), country }),
    fc.record({ kind: fc.constant('move' as const), place: fc.nat(), country }),
    fc.record({ kind: fc.constant('delete' as const), places: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }) })
  )
  const ids: number[] = []
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
      const known = [...ids]
      const at = (place: number) => known[place % Math.max(known.length, 1)] ?? 1
      const answers = await Promise.all(steps.map(async (each, i) => {
        const server = i % 2 === 0 ? first : second
        if (each.kind === 'create') {
          const { id } = await create(server.call, { paese_id: each.country })
          ids.push(id)
          return 201
        }
        const answer = each.kind === 'move'
          ? await server.call('PUT', `/api/v1/prenotazioni/${at(each.place)}`, { paese_id: each.country })
          : await server.call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: each.places.map(at) })
        return answer.statusCode
      }))
      t.notOk(answers.some((status) => status >= 500), String(answers))
      const counted = await first.app.sql`
        select paese_id, totale from prenotazioni_per_paese where totale <> 0 order by paese_id`
      const real = await first.app.sql`
        select paese_id, count(*)::int as totale from prenotazioni group by paese_id order by paese_id`
      t.same([...counted], [...real])
    }),
    { numRuns: 15 }
  )
})

t.test('the counts follow statements over many rows, and an emptied table', async (t) => {
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Prova', 'IT', 1 + n % 3, '2026-11-22', '2026-11-23', 1 from generate_series(1, 30) n`
  await app.sql`update prenotazioni set paese_id = paese_id + 1`
  await app.sql`delete from prenotazioni where paese_id = 2`
  const rows = () => app.sql`select paese_id, totale from prenotazioni_per_paese where totale > 0 order by paese_id`
  t.same([...await rows()], [{ paese_id: 3, totale: 10 }, { paese_id: 4, totale: 10 }])
  await app.sql`truncate prenotazioni cascade`
  t.same([...await rows()], [])
})

t.test('statements over many bookings in opposite order do not wait for each other in a circle', async (t) => {
  const { sql } = app
  await sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Anna Prova', 'IT', 901 + n % 2, '2026-11-22', '2026-11-23', 1 from generate_series(1, 400) n`
  for (let round = 0; round < 5; round++) {
    await Promise.all([0, 1].map((half) => sql`
      update prenotazioni set paese_id = 1803 - paese_id
      where id in (select id from prenotazioni where id % 4 / 2 = ${half} order by id)`))
  }
  t.same([...await sql`select paese_id, totale from prenotazioni_per_paese where totale > 0 order by paese_id`], [
    { paese_id: 901, totale: 200 }, { paese_id: 902, totale: 200 }
  ])
})

t.test('the database takes no day from SQL that the API cannot show', async (t) => {
  const { id } = await create(call)
  for (const change of ["check_in = '0044-03-15 BC'", "check_out = '10000-01-01'", "created_at = 'infinity'"]) {
    await t.rejects(app.sql.unsafe(`update prenotazioni set ${change} where id = ${id}`), { code: '23514' }, change)
  }
})

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

function git (folder: string, ...args: string[]): string {
  const author = ['-c', 'user.name=prova', '-c', 'user.email=prova@example.org', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** Makes a repository with one commit, and gives the hash. */
function repository (folder: string): string {
  git(folder, 'init', '-q')
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'prova')
  return git(folder, 'rev-parse', 'HEAD')
}

t.test('anybody learns version, commit and deploy, and may keep them for five minutes', async (t) => {
  const { app } = await build(t, { HOSTING_DEPLOY: 'vetrina-2', DATABASE_URL: server.url })
  const answer = await app.inject('/api/version')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), {
    version: await taggedVersion(PACKAGE) ?? manifest.version,
    latestCommit: await checkedOutCommit(PACKAGE),
    hostingDeploy: 'vetrina-2'
  })
  t.equal(answer.headers['cache-control'], 'public, max-age=300')
  t.same((await app.inject({ url: '/api/version', headers: { authorization: 'Bearer x' } })).json(), answer.json())
})

t.test('without HOSTING_DEPLOY the deploy is local; a database that is gone changes nothing', async (t) => {
  const { app } = await build(t, { DATABASE_URL: server.url })
  await app.sql.end()
  t.match((await app.inject('/api/version')).json(), { hostingDeploy: 'local', version: /^\d+\.\d+\.\d+/ })
})

t.test('the commit is that of the repository whose root the folder is, and of no other', async (t) => {
  const outer = temporaryFolder(t)
  t.equal(await checkedOutCommit(outer), '', 'no repository')
  const head = repository(outer)
  t.equal(await checkedOutCommit(outer), head)
  const inner = join(outer, 'node_modules', 'locanda')
  mkdirSync(inner, { recursive: true })
  t.equal(await checkedOutCommit(inner), '', 'a package inside another repository')
})

t.test('the note of a build counts only where it is the hash of a commit', async (t) => {
  t.equal(commitOf('4b825dc642cb6eb9a060e54bf8d69288fbee4904\n'), '4b825dc642cb6eb9a060e54bf8d69288fbee4904')
  t.equal(commitOf('a'.repeat(64)), 'a'.repeat(64))
  for (const text of ['', 'main', 'a'.repeat(39), 'a'.repeat(41), `${'a'.repeat(40)}; x`]) t.equal(commitOf(text), '')
})

t.test('the version is that of the last tag, and says how far the commit is from it', async (t) => {
  const folder = temporaryFolder(t)
  t.equal(await taggedVersion(folder), undefined, 'no repository')
  repository(folder)
  t.equal(await taggedVersion(folder), undefined, 'no tag')
  git(folder, 'tag', 'provvisorio')
  t.equal(await taggedVersion(folder), undefined, 'a tag of something else')
  git(folder, 'tag', '-m', 'la prima', 'v1.2.3')
  t.equal(await taggedVersion(folder), '1.2.3')
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'altra')
  t.equal(await taggedVersion(folder), `1.2.3+1.g${git(folder, 'rev-parse', '--short', 'HEAD')}`)
  git(folder, 'tag', 'v2.0.0-rc.1')
  t.equal(await taggedVersion(folder), '2.0.0-rc.1')
  t.equal(versionOf('v1.2-3-gabc'), undefined)
})

/** The schema of sitemaps.org, as the package carries it. */
const SCHEMA = readFileSync(new URL('../../node_modules/sitemap/schema/sitemap.xsd', import.meta.url), 'utf8')

const { url: DATABASE_URL } = server

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
