import fc from 'fast-check'
import t from 'tap'
import { distinctNames, toJson } from '#src/system/sql/rows.ts'
import { anyCharacter } from '#test/any-character.ts'
import { buildConsole } from './console.ts'

const { app, run } = await buildConsole(t)

/** Values of the built-in types, each as its type and the text of it. */
const VALUES: readonly (readonly [type: string, ...texts: string[]])[] = [
  ['boolean', 'true', 'false'],
  ['smallint', '-32768', '32767'],
  ['integer', '-2147483648', '2147483647'],
  ['bigint', '-9223372036854775808', '9007199254740993'],
  ['numeric', '0.1000', '123456789012345678901234567890.123456789', 'NaN', 'Infinity', '1e-40'],
  ['real', '3.4028235e38', '1e-45', '0.1', '-0', 'NaN', '-Infinity'],
  ['double precision', '1.7976931348623157e308', '5e-324', '0.1', '-0', '1e21', '1e-7', 'NaN', 'Infinity'],
  ['text', '', 'è "una" \\ prova', '\u2028\n\t', '😀'],
  ['character varying', 'x'], ['character', 'y'], ['name', 'z'], ['"char"', 'c'], ['bytea', '\\x00ff10'],
  ['json', '{"a": 12345678901234567890.10,  "a":1e400}', ' null ', '"\\ud800"'],
  ['jsonb', '{"n": 123456789012345678901234567890.10}', '[]', 'null', '"testo"'],
  ['date', '0044-03-15 BC', 'infinity', '2026-11-21'],
  ['time without time zone', '24:00:00', '00:00:00.000001'], ['time with time zone', '12:00:00+05:30'],
  ['timestamp without time zone', '2026-11-21 09:30:00.123456', '-infinity'],
  ['timestamp with time zone', '294276-12-31 23:59:59.999999+00', '2026-11-21 09:30:00+02'],
  ['interval', '1 year -2 mons +3 days -04:05:06.789', '178000000 years'],
  ['uuid', '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'], ['xml', '<a b="1">è</a>'], ['money', '12.34'],
  ['inet', '192.0.2.7/24', '2001:db8::1'], ['cidr', '192.0.2.0/24'], ['macaddr', '08:00:2b:01:02:03'],
  ['macaddr8', '08:00:2b:01:02:03:04:05'], ['bit varying', '10110'], ['bit', '1'],
  ['point', '(1.5,-2)'], ['line', '{1,2,3}'], ['lseg', '[(0,0),(1,1)]'], ['box', '(1,1),(0,0)'],
  ['path', '((0,0),(1,1))'], ['polygon', '((0,0),(1,1),(1,0))'], ['circle', '<(0,0),1>'],
  ['tsvector', "'a':1 'b':2"], ['tsquery', "'a' & 'b'"], ['int4range', '[1,5)', 'empty'],
  ['tstzrange', '["2026-01-01 00:00:00+00",infinity)'], ['nummultirange', '{[1.5,2),(3,4]}'],
  ['integer[]', '{1,NULL,3}', '[0:1]={1,2}'], ['text[]', '{"a,b",NULL,"NULL",""}'], ['numeric[]', '{{1.10,2},{3,4}}'],
  ['oid', '4294967295'], ['regclass', 'prenotazioni'], ['regtype', 'integer'], ['pg_lsn', '16/B374D848'],
  ['tid', '(0,1)'], ['xid', '42'], ['xid8', '18446744073709551615'], ['jsonpath', '$."a"[*]'],
  ['pg_snapshot', '10:20:10,14']
]

t.test('a value of every built-in type comes as JSON from which PostgreSQL makes the same value again', async (t) => {
  const given = VALUES.flatMap(([type, ...texts]) => texts.map((text) => ({
    type, text, literal: `e'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'::${type}`
  })))
  // All in one row: each statement of the console has a connection of its own.
  const answer = await run(`select ${
    given.map(({ literal }, n) => `${literal} as v${n}, (${literal})::text as t${n}`).join()}`)
  t.equal(answer.statusCode, 200)
  const { data: [row], fields } = answer.json<{ data: [Record<string, unknown>], fields: { type: string }[] }>()
  const { body } = answer
  const values = given.map(({ type }, n) => {
    const value = row[`v${n}`]
    if (typeof value === 'string' && !/^jsonb?$/.test(type)) return value
    // The bare JSON text of the value: a parsed number would be a double already.
    const begin = `"v${n}":`
    return body.slice(body.indexOf(begin) + begin.length, body.indexOf(`,"t${n}":`))
  })
  const [back] = await app.sql.unsafe<[Record<string, string>]>(`select ${given.map(({ type }, n) =>
    `$${n + 1}::text::${type}::text as text${n}, '${type}'::regtype::text as type${n}`).join()}`, values)
  for (const [n, { type, text }] of given.entries()) {
    t.equal(back[`text${n}`], row[`t${n}`], `${type} ${encodeURI(text.toWellFormed())}`)
    t.equal(fields[2 * n]!.type, back[`type${n}`])
  }
})

t.test('null is null, and a row of many columns keeps each', async (t) => {
  t.same((await run('select null as a, null::int as b, null::json as c')).json().data, [{ a: null, b: null, c: null }])
})

t.test('any text, any double and any whole number is the same after JSON', async () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => JSON.parse(toJson(25, text)) === text))
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) =>
    Object.is(JSON.parse(toJson(701, Object.is(number, -0) ? '-0' : String(number))), number)))
  fc.assert(fc.property(fc.bigInt(), (number) => JSON.parse(toJson(20, String(number))) === String(number)))
})

t.test('names are distinct whatever they were, and the first of each keeps its own', async () => {
  const name = fc.constantFrom('a', 'a_2', 'a_3', 'b', '__proto__')
  fc.assert(fc.property(fc.array(name), (names) => {
    const distinct = distinctNames(names)
    return new Set(distinct).size === names.length &&
      names.every((name, i) => names.indexOf(name) !== i || distinct[i] === name)
  }))
})
