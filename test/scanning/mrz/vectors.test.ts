import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { ParsedMrz } from '#schemas/scanning.ts'
import { checkLines } from '#src/scanning/mrz/lines.ts'
import { parseZone } from '#src/scanning/mrz/parse.ts'
import { present } from '#src/scanning/mrz/present.ts'
import { TODAY } from './samples.ts'

interface Vector { title: string, lines: string[], expected: Partial<ParsedMrz> }

/** Zones of other projects' tests, kept beside this one; what is null in them is not known. */
interface PublicVector {
  lines: string[]
  layout: string
  valid: boolean
  expected: Record<string, string | null> | null
  checks: Partial<Record<keyof typeof CHECKS, boolean>>
}

const CHECKS = {
  doc: 'docNumber', birth: 'birthDate', expiry: 'expiryDate', opt: 'optionalData', comp: 'composite'
} as const

/** Layouts of driving licences, which are not ICAO's, and lines that are no zone at all. */
const REFUSED = [12, 23, 47, 74]
const PUBLIC = new URL('../../../../shared/data/mrz/vectors.json', import.meta.url)

const read = (lines: string[]) => {
  const checked = checkLines(lines)
  return present(parseZone(checked.layout, checked.lines, TODAY))
}

for (const { title, lines, expected } of json<Vector>(new URL('../../../fixtures/mrz/vectors.json', import.meta.url))) {
  t.test(`a zone is read: ${title}`, async (t) => {
    t.match(read(lines), expected)
  })
}

const skip = existsSync(PUBLIC) ? false : 'the collection of public zones is not here'
t.test('the zones of other projects are read as their tests, or Doc 9303, want it', { skip }, async (t) => {
  const vectors = json<PublicVector>(PUBLIC)
  t.ok(vectors.length > 70)
  for (const [at, { lines, layout, valid, expected, checks }] of vectors.entries()) {
    if (REFUSED.includes(at)) {
      t.throws(() => read(lines), { code: 'RICHIESTA_NON_VALIDA' }, `${at} is refused`)
      continue
    }
    const parsed = read(lines)
    const wanted = Object.entries(expected ?? {}).map(([name, value]) => [name, value ?? ''])
    t.match(parsed, { ...Object.fromEntries(wanted), valid }, String(at))
    t.equal(parsed.layout.replace('-', ''), layout, `${at}: layout`)
    const digits = Object.entries(CHECKS).map(([name, ours]) => [ours, checks[name as keyof typeof CHECKS] ?? null])
    t.same(parsed.checks, Object.fromEntries(digits), `${at}: digits`)
  }
})

function json<T> (file: URL): T[] {
  return JSON.parse(readFileSync(file, 'utf8')) as T[]
}
