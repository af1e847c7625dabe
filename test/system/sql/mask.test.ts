import fc from 'fast-check'
import t from 'tap'
import { maskConstants } from '#src/system/sql/mask.ts'

const CASES: readonly (readonly [string, string])[] = [
  ["select 'Ada', E'a\\'b', b'01', U&'x', $$q$$, $t$ ' $t$, 1, .5, 1e-5, 0x1F", 'select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?'],
  ["select E'a'\n 'b\\'segreto' from t1", 'select ? from t1'],
  ['select /* a /* b */ c */ 1 -- fine', 'select ?'],
  ['select "nome", "Ada Prova" from t where a = $1', 'select "nome", ? from t where a = $1'],
  ["select 'senza fine", 'select ?'],
  ['select $x$ senza fine', 'select ?']
]

t.test('strings, numbers, comments and odd names are masked as PostgreSQL reads them', async (t) => {
  for (const [statement, masked] of CASES) t.equal(maskConstants(statement), masked)
})

t.test('nothing of a constant is in the masked text, and it is short', async () => {
  const text = fc.string().map((s) => s.replaceAll('\0', ''))
  const constant = fc.oneof(
    text.map((s) => `'${(s + 'canarino').replaceAll("'", "''")}'`),
    text.map((s) => `e'${(s + 'canarino').replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
    text.map((s) => `$z$${s.replaceAll('$', '')}canarino$z$`),
    text.map((s) => `/* ${s.replaceAll(/[*/]/g, '')} canarino */`),
    text.map((s) => `-- ${s.replaceAll(/[\r\n]/g, '')} canarino\n`)
  )
  fc.assert(fc.property(fc.array(constant, { maxLength: 20 }), (constants) => {
    const masked = maskConstants(`select ${constants.join(' , ')}`)
    return !masked.includes('canarino') && masked.length <= 501
  }))
})
