import t from 'tap'
import { build } from '#test/helper.ts'

const { call } = await build(t, { TODAY: '2026-01-01' })
const PASSPORT = ['P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<', 'L898902C36UTO7408122F1204159ZE184226B<<<<<10']
const CARD = ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']

const refused: [title: string, lines: string[], campi: string[], text: RegExp][] = [
  ['a line that is too short', CARD.with(2, CARD[2]!.slice(1)), ['lines[2]'], /ha 29 caratteri.*30.*TD1/],
  ['a line that is too long', PASSPORT.with(0, `${PASSPORT[0]}<`), ['lines[0]'], /ha 45 caratteri.*44.*TD3/],
  ['two lines of no format', ['AB', 'CD'], ['lines[0]', 'lines[1]'], /36 o 44/],
  ['a line that does not fit the first', [PASSPORT[0]!, 'A'.repeat(36)], ['lines[1]'], /ha 36 caratteri.*44/],
  ['two lines of a card', CARD.slice(0, 2), ['lines[0]', 'lines[1]'], /36 o 44/],
  ['a Swiss driving licence', ['CTD718D<<', ...CARD.slice(1)], ['lines[0]'], /ha 9 caratteri/],
  ['another character', PASSPORT.with(1, PASSPORT[1]!.replace('U', '!')), ['lines[1]'], /«!»/],
  ['a letter that only looks like one', PASSPORT.with(0, PASSPORT[0]!.replace('E', 'É')), ['lines[0]'], /«É»/],
  ['a letter that becomes two', CARD.with(2, CARD[2]!.slice(1).replace('S', 'ß')), ['lines[2]'], /«ß»/],
  ['a character without a sign', PASSPORT.with(0, PASSPORT[0]!.replace('E', '\u0001')), ['lines[0]'], /U\+0001/],
  ['a blank inside', PASSPORT.with(0, PASSPORT[0]!.replace('<', ' ')), ['lines[0]'], /U\+0020/],
  ['an empty line', PASSPORT.with(0, ''), ['lines[0]'], /ha 0 caratteri/],
  ['one line', [PASSPORT[0]!], ['lines'], /almeno 2/],
  ['four lines', [...PASSPORT, ...PASSPORT], ['lines'], /al massimo 3/]
]

for (const [title, lines, campi, text] of refused) {
  t.test(`a 400 names the line at fault: ${title}`, async (t) => {
    const answer = await call('POST', '/api/mrz/parse', { lines })
    const { status, error, dettagli } = answer.json<{ status: number, error: string, dettagli: { campo: string }[] }>()
    t.equal(answer.statusCode, 400)
    t.equal(status, 400)
    t.same(dettagli.map(({ campo }) => campo), campi)
    t.match(error, text)
  })
}

t.test('lower case and blanks around a line are accepted', async (t) => {
  const [first, second, third] = CARD
  const lines = [`  ${first!.toLowerCase()}`, `${second}\r\n`, `\t${third} `]
  const answer = await call('POST', '/api/mrz/parse', { lines })
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), { parsed: { format: 'TD1', surname: 'ROSSI', docNumber: 'CA00000AA', valid: true } })
})
