import t from 'tap'
import { build } from '#test/helper.ts'
import { PROBLEMS } from '#src/pdf/errors.ts'
import { DATA, REFUSED } from '#test/pdf/hostile-templates.ts'
import { pageWith, readPages } from '#test/pdf/read-pdf.ts'
import { pathOf } from './sample.ts'

const { app, call, logs } = await build(t)
const marker = globalThis as { __pwned?: unknown }

t.test('no hostile template gets through the routes: each is a 400, and none is kept', async (t) => {
  for (const [what, template, code] of REFUSED) {
    const answer = await call('POST', '/api/generate-pdf', { template, data: DATA })
    t.equal(answer.statusCode, 400, what)
    // What is no text, or is too long, is refused before the engine sees it; how deep a thread goes is its own.
    t.ok([...PROBLEMS, 'RICHIESTA_NON_VALIDA'].includes(answer.json<{ codice: string }>().codice), `${what}: ${code}`)
    if (typeof template === 'string' && template.length <= 64_000) {
      t.equal((await call('POST', '/api/v1/templates/valida', { template, esempio: DATA })).statusCode, 200, what)
    }
  }
  t.same((await call('GET', '/api/history')).json(), { data: [] })
  t.equal(marker.__pwned, undefined)
  t.same(logs.filter(({ level }) => Number(level) >= 50), [], 'no fault of ours')
})

t.test('what stands in the rows is text: templates, markup and formulas in it are printed', async (t) => {
  const hostile = '{{ 7 | times: 7 }}{% include "package.json" %}<script>x</script>=HYPERLINK("x")'
  const rows = [{ listingTitle: hostile, firstName: hostile, [hostile.slice(0, 20)]: 1 }]
  const answer = await call('POST', '/api/generate-template', { rows })
  t.equal(answer.statusCode, 200)
  const text = (await readPages(answer.rawPayload)).join(' ').replaceAll(' ', '')
  t.ok(text.includes(hostile.replaceAll(' ', '')))
  t.notMatch(text, /49\{%/)
})

t.test('names of properties that every object has are refused, or are fields like any other', async (t) => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'length']) {
    const rows = [{ [name]: '1.00', listingTitle: 'constructor' }, { listingTitle: '__proto__' }]
    t.equal((await call('POST', '/api/generate-template', { rows })).statusCode, 200, name)
  }
  const answer = await call('POST', '/api/generate-template', JSON.parse('{"rows":[{"__proto__":{"x":1}}]}') as object)
  t.ok(answer.statusCode === 400 || answer.statusCode === 200)
})

t.test('rows with millions of values, or a value of megabytes, are refused', async (t) => {
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`c${at}`, at]))
  const answers = [
    await call('POST', '/api/generate-template', { rows: Array.from({ length: 9000 }, () => wide) }),
    await call('POST', '/api/generate-template', { rows: [wide] }),
    await call('POST', '/api/generate-template', { rows: [{ a: 'x'.repeat(2_000_000) }] }),
    await call('POST', '/api/generate-template', { rows: [{ a: 'x y '.repeat(20_000) }] })
  ]
  for (const answer of answers) t.match(answer.json(), { status: 400 })
  for (const answer of answers.slice(1)) t.match(answer.json(), { dettagli: [{ campo: 'rows' }], riga: null })
})

t.test('rows of which each has other columns are refused before anybody looks at all of them', async (t) => {
  const rows = Array.from({ length: 8000 }, (_, row) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${row}x${at}`, 1])))
  const answer = await call('POST', '/api/generate-template', { rows })
  t.match(answer.json(), { status: 400, codice: 'LIMITE_SUPERATO', dettagli: [{ campo: 'rows' }] })
})

t.test('a column whose name has dots is shown and added like any other', async (t) => {
  const rows = [{ 'Importo es. IVA': '10.50', 'a.b': 'uno' }, { 'Importo es. IVA': '0.50', 'a.b': 'due' }]
  const text = (await readPages((await call('POST', '/api/generate-template', { rows })).rawPayload)).join(' ')
  t.match(text, /11,00/)
  t.match(text, /10,50.*uno/)
})

t.test('layouts that the renderer cannot make, again and again, keep no other PDF from being made', async (t) => {
  const template = pageWith('<row><div style="flex: 1"><qr size="0" value="a"/></div><p>\u00AD\u00ADa</p></row>')
  for (let time = 0; time < 40; time++) {
    t.match((await call('POST', '/api/generate-pdf', { template })).statusCode, 400)
  }
  t.equal((await call('POST', '/api/generate-pdf', { template: pageWith('dopo') })).statusCode, 200)
})

t.test('a PDF that takes too much ends its thread alone: the next request is answered', async (t) => {
  const template = pageWith('{% for i in (1..2500) %}<p>{{ testo }}</p>{% endfor %}')
  // It would take several seconds.
  const { run } = app.workers
  app.workers.run = (task, job, options) => run(task, job, { ...options, deadlineMs: 1000 })
  t.teardown(() => { app.workers.run = run })
  const answer = await call('POST', '/api/generate-pdf', { template, data: { testo: 'uno due tre '.repeat(12) } })
  t.match(answer.json(), { status: 503, codice: 'LAVORO_TROPPO_LUNGO' })
  app.workers.run = run
  const next = await call('POST', '/api/generate-pdf', { template: pageWith('dopo') })
  const read = await call('GET', pathOf(next.json<{ download_url: string }>().download_url))
  t.same(await readPages(read.rawPayload), ['dopo'])
})
