import t from 'tap'
import { renderPdf } from '#src/pdf/render.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

const NAMES: Record<string, string> = {
  Latin: 'Łukasz Wiśniewski Ångström Çelik Ždanov',
  Vietnamese: 'Nguyễn Thị Ánh Đặng',
  Greek: 'Αλέξανδρος Παπαδόπουλος',
  Cyrillic: 'Екатерина Щербакова Їжак',
  Arabic: 'محمد علي حسن',
  Hebrew: 'יעקב כהן',
  Thai: 'สมชาย ใจดี',
  'simplified Chinese': '王小明 刘伟',
  'traditional Chinese': '陳美麗 劉偉',
  Japanese: '山田太郎 ヤマダ はなこ',
  Korean: '김민수 박뷁',
  Devanagari: 'अमित',
  emoji: '🏖😀🍝🎉'
}
/** Some readers give letters from right to left, and joined ones, in the order in which they stand on the page. */
const letters = (text: string) => [...text.normalize('NFKC').replace(/\s/g, '')].sort().join('')

for (const [script, name] of Object.entries(NAMES)) {
  t.test(`a name reads back from the PDF: ${script}`, async (t) => {
    const { bytes, warnings } = await renderPdf(pageWith('<p>{{ nome }}</p>'), { nome: name }, { date: DATE })
    const [text] = await readPages(bytes)
    t.equal(letters(text!), letters(name))
    t.same(warnings, [])
  })

  t.test(`a name reads back from a long table, in a bold heading and in a serif letter: ${script}`, async (t) => {
    const rows = Array.from({ length: 301 }, () => ({ nome: name }))
    const template = pageWith('<table data="righe"/>')
    const table = await renderPdf(template, { righe: rows }, { date: DATE })
    const [first] = await readPages(table.bytes, 0, 1)
    t.ok(letters(first!).includes(letters(name)[0]!))
    t.ok([...letters(name)].every((letter) => letters(first!).includes(letter)))
    const heading = pageWith('<h1><i>{{ nome }}</i></h1>', ' font="serif"')
    const [text] = await readPages((await renderPdf(heading, { nome: name }, { date: DATE })).bytes)
    t.equal(letters(text!), letters(name))
  })
}

t.test('a letter that no font has is written in a simpler form or as a box, and the author is told', async (t) => {
  const { bytes, warnings } = await renderPdf(pageWith('<p>{{ n }}</p>'), { n: 'გიორგი Արմեն ᖃ😀 ❤️' }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /^giorgi Armen □😀 ❤$/u)
  t.match(warnings, [{ codice: 'CARATTERE_SEMPLIFICATO' }, { codice: 'CARATTERE_MANCANTE', messaggio: /ᖃ(?! 😀)/u }])
})

t.test('controls and marks that turn text round do not reach the document', async (t) => {
  const n = 'a\u0000b\u001Bc\u202Ed\u2066e\uD800f\uFFFEg'
  const { bytes } = await renderPdf(pageWith('<p>{{ n }}</p>'), { n }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /^abcde.fg$/)
})

const HYPHENATED = [
  '\u00AD', '\u00AD\u00ADAnna', 'Anna \u00AD\u00ADMaria', 'An\u00AD\u200b\u00ADna', 'Anna\u00AD', 'An\u00ADna'
]
for (const text of HYPHENATED) {
  t.test(`places for hyphens, wherever they stand, keep no PDF from being made: ${JSON.stringify(text)}`, async (t) => {
    const template = pageWith('<h1>{{ nome }}</h1><p>{{ nome }}</p><table data="righe"/>')
    const { bytes } = await renderPdf(template, { nome: text, righe: [{ nome: text }] }, { date: DATE })
    const [page] = await readPages(bytes)
    t.equal(letters(page!.replace('Nome', '')), letters(text.replace(/[\u00AD\u200b]/g, '').repeat(3)))
  })
}
