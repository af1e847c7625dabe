import fc from 'fast-check'
import t from 'tap'
import { card, table, width } from '#src/cli/table.ts'

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'Anna', '王秀英', '김철수', 'e\u0301a', 'ｶﾀｶﾅ', '👩‍👧', 'Ａ')
)

t.test('a text takes two columns for each wide character, one for each other, and none for a mark', async (t) => {
  for (const [given, columns] of [
    ['', 0],
    ['Anna', 4],
    ['e\u0301a', 2],
    ['王秀英', 6],
    ['김철수', 6],
    ['カナ', 4],
    ['ｶﾅ', 2],
    ['Ａ', 2],
    ['👩‍👧', 2],
    ['—', 1],
    ['…', 1]
  ] as const) {
    t.equal(width(given), columns, given)
  }
})

t.test('whatever the cells hold, a row is a line and the columns stand in line', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(text, text, text), { maxLength: 5 }),
      fc.integer({ min: 3, max: 12 }),
      (rows, max) => {
        // A mark for the end of each cell, which no text holds.
        const marked = rows.map((row) => [...row.map((cell) => cell.replaceAll('|', '')), '|'])
        const lines = table(
          [{ title: 'uno', max }, { title: 'due', right: true }, { title: 'tre' }, { title: '|' }],
          marked
        ).split('\n')
        const ends = new Set(lines.map((line) => width(line.slice(0, line.lastIndexOf('|')))))
        return lines.length === rows.length + 1 && ends.size === 1
      }
    )
  )
})

t.test('what is too long is cut where it fits, and says so', async (t) => {
  const one = (text: string, max: number) => table([{ title: 'x', max }], [[text]]).split('\n')[1]
  t.equal(one('abcdef', 6), 'abcdef')
  t.equal(one('abcdefg', 6), 'abcde…')
  t.equal(one('王秀英', 5), '王秀…')
  t.equal(one('王秀英', 4), '王…')
  t.equal(one('e\u0301e\u0301e\u0301', 2), 'e\u0301…')
})

t.test('a card has its values in line, and a dash for what is not known', async (t) => {
  t.equal(card([['Nome', 'Anna'], ['Telefono', null], ['E-mail', '']]), 'Nome      Anna\nTelefono  —\nE-mail    ')
})
