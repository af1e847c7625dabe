import fc from 'fast-check'
import t from 'tap'
import { decode, encode } from '#src/alloggiati/codec/codec.ts'
import { foldDocument, foldName } from '#src/alloggiati/codec/folding.ts'
import { nameKey } from '#src/alloggiati/codec/name-key.ts'
import { anyCharacter } from '#test/any-character.ts'
import { golden } from './golden.ts'

const good = golden('single guest born in Italy').record

const letters = fc.constantFrom(
  ..."abzÀéîõüçşğıİñøŁđðþßœÆŉŊ’‘´`'-–—.·\u0301\u200b\u00a0 \t",
  'и',
  '李',
  '2',
  '_',
  'ﬁ',
  '\ud83d',
  'ĲssA'
)
const texts = fc.oneof(fc.string({ unit: letters, maxLength: 30 }), fc.string({ unit: anyCharacter, maxLength: 30 }))

t.test('a name is spelled in the letters of the service', async (t) => {
  const cases: [string, string][] = [
    ['Rossi', 'ROSSI'],
    ['  de   rossi ', 'DE ROSSI'],
    ['Niccolò', 'NICCOLO'],
    ['Nguyễn', 'NGUYEN'],
    ['Dvor\u030ca\u0301k', 'DVORAK'],
    ['Åström', 'ASTROM'],
    ['Strauß STRAUẞ', 'STRAUSS STRAUSS'],
    ['Ægir Œuvre Øst Łódź', 'AEGIR OEUVRE OEST LODZ'],
    ['Đorđe Þór Guðrún', 'DORDE THOR GUDRUN'],
    ['Işık İnci', 'ISIK INCI'],
    ['D’Amico', 'D\'AMICO'],
    ['D‘Amico D´Amico D`Amico', 'D\'AMICO D\'AMICO D\'AMICO'],
    ['Anne-Marie', 'ANNE MARIE'],
    ['Smith – Jones—Lee − Poe', 'SMITH JONES LEE POE'],
    ['J. R. R.', 'J R R'],
    ['Gal·la', 'GALLA'],
    ['Ro\u00adssi\u200b', 'ROSSI'],
    ['DE\u00a0ROSSI\tMARIO', 'DE ROSSI MARIO'],
    ['', '']
  ]
  for (const [typed, text] of cases) {
    const folded = foldName(typed)
    t.equal(folded.text, text, JSON.stringify(typed))
    t.equal(folded.refused, '')
  }
})

t.test('what has no Latin spelling is refused character by character, each once, and stays in the text', async (t) => {
  t.strictSame(foldName('Ива нов'), { text: 'Ива нов', changed: false, refused: 'Ивано' })
  t.strictSame(foldName('李 Anna'), { text: '李 ANNA', changed: false, refused: '李' })
  t.equal(foldName('Mario 22').refused, '2')
  t.equal(foldName('Rossi & Figli, (Bar)').refused, '&,()')
  t.equal(foldName('ROSSI\0').refused, '\0')
  t.equal(foldName('ＲＯＳＳＩ').refused, 'ＲＯＳＩ')
})

t.test('letter case and blanks around a name are no change of it', async (t) => {
  t.notOk(foldName(' Rossi ').changed)
  t.notOk(foldName('ROSSI').changed)
  t.ok(foldName('Strauß').changed)
  t.ok(foldName('De  Rossi').changed)
  t.ok(foldName('Anne-Marie').changed)
})

t.test('folding a folded name changes nothing', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(texts, (typed) => {
    const once = foldName(typed)
    const twice = foldName(once.text)
    return twice.text === once.text && (once.refused !== '' || (!twice.changed && twice.refused === ''))
  }), { numRuns: 2000 }))
})

t.test('an accepted name that fits always encodes, a refused one never does', async (t) => {
  let accepted = 0
  t.doesNotThrow(() => fc.assert(fc.property(texts, (typed) => {
    const { text, refused } = foldName(typed)
    if (text === '' || text.length > 50) return true
    if (refused !== '') return throws(() => encode({ ...good, cognome: text }))
    accepted++
    const result = decode(encode({ ...good, cognome: text }))
    return 'record' in result && result.record.cognome === text
  }), { numRuns: 2000 }))
  t.ok(accepted > 50, `${accepted} accepted names were tried`)
})

t.test('a document number loses its blanks and gets capitals', async (t) => {
  t.strictSame(foldDocument('ca 00000 aa'), { text: 'CA00000AA', changed: true, refused: '' })
  t.strictSame(foldDocument(' ca00000aa '), { text: 'CA00000AA', changed: false, refused: '' })
  t.strictSame(foldDocument('AB-12.34/56'), { text: 'AB-12.34/56', changed: false, refused: '' })
  t.strictSame(foldDocument('n°12_é'), { text: 'N°12_é', changed: false, refused: '°_é' })
})

t.test('an accepted document number that fits always encodes, and folding it again changes nothing', async (t) => {
  const numbers = fc.oneof(texts, fc.string({ unit: fc.constantFrom(...'aB09-./ \u00a0'), maxLength: 25 }))
  t.doesNotThrow(() => fc.assert(fc.property(numbers, (typed) => {
    const { text, refused } = foldDocument(typed)
    if (foldDocument(text).text !== text) return false
    if (text === '' || text.length > 20) return true
    return (refused === '') !== throws(() => encode({ ...good, num_doc: text }))
  }), { numRuns: 1000 }))
})

function throws (work: () => unknown): boolean {
  try {
    work()
    return false
  } catch {
    return true
  }
}

const key = ([cognome, nome]: readonly [string, string]) => nameKey(cognome, nome)

t.test('the spellings of one person have one key', async (t) => {
  const people: [string, string][][] = [
    [['ROSSI', 'NICCOLÒ'], ['ROSSI', "NICCOLO'"], ['Rossi', 'Niccolo'], ['NICCOLÒ', 'ROSSI']],
    [["D'ANGELO", 'UGO'], ['DANGELO', 'UGO'], ['D ANGELO', 'UGO'], ['D’Angelo', 'Ugo']],
    [['DE LUCA', 'ANNA-MARIA'], ['DELUCA', 'ANNAMARIA'], ['DE', 'LUCA ANNA MARIA'], ['ANNA MARIA', 'DE LUCA']],
    [['MÜLLER', 'JÖRG'], ['MUELLER', 'JOERG'], ['MULLER', 'JORG']],
    [['LI', 'WEI'], ['WEI', 'LI'], ['LI WEI', '']],
    [['STRAUß', 'EVA'], ['STRAUSS', 'EVA']],
    [['ÅKESSON', 'BJØRN'], ['AAKESSON', 'BJOERN'], ['AKESSON', 'BJORN']],
    [['LÆRKE', 'ANE'], ['LAERKE', 'ANE']],
    [['ROSSI', 'ANNA MARIA'], ['ROSSI', 'MARIA ANNA'], ['MARIA', 'ROSSI ANNA']],
    [['GARCÍA LÓPEZ', 'JOSÉ'], ['LOPEZ GARCIA', 'JOSE'], ['GARCIA', 'JOSE LOPEZ']],
    [['ĐORĐEVIĆ', 'MILA'], ['DJORDJEVIC', 'MILA'], ['DORDEVIC', 'MILA']]
  ]
  for (const spellings of people) t.equal(new Set(spellings.map(key)).size, 1, spellings.join(' · '))
})

t.test('twins with other first names are two, and so are namesakes by half', async (t) => {
  const people: [string, string][] = [
    ['PROVETTI', 'ANNA'], ['PROVETTI', 'NANNA'], ['PROVETTI', 'ANNALISA'], ['PROVETTI', 'LISA'], ['LI', 'WEI'],
    ['LI', 'WEN'], ['MULLER', 'EVA'], ['MILLER', 'EVA']
  ]
  t.equal(new Set(people.map(key)).size, people.length)
})

/** Two letters that are one inside a word; an E between them does not count. */
const PAIR = /AE*A|DE*J/
const lettersOf = (alphabet: string) => fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 12 })
const name = fc.oneof(lettersOf('AEOUSBR'), lettersOf('ABCDEFGHIJKLMNOPQRSTUVWXYZ'))

t.test('neither the order of the names nor the border between them counts', async () => {
  fc.assert(fc.property(name, name, fc.nat(), (cognome, nome, at) => {
    const joined = cognome + nome
    fc.pre(!PAIR.test(joined + joined))
    const border = at % joined.length
    return key([cognome, nome]) === key([nome, cognome]) &&
      key([cognome, nome]) === key([joined.slice(0, border), joined.slice(border)])
  }))
})

t.test('marks, apostrophes, dashes and blanks do not count, nor how a marked letter is spelled out', async () => {
  const noise = fc.constantFrom('', ' ', "'", '’', '-', '.', '\u0301')
  const spelled = fc.constantFrom(['Ä', 'AE', 'A'], ['Ö', 'OE', 'O'], ['Ø', 'OE', 'O'], ['Ü', 'UE', 'U'],
    ['Å', 'AA', 'A'], ['Æ', 'AE', 'A'], ['ß', 'SS', 'SS'], ['É', 'E', 'E'], ['B', 'B', 'b'], ['R', 'R', 'r'])
  fc.assert(fc.property(fc.array(fc.tuple(spelled, noise), { minLength: 1, maxLength: 12 }), name, (parts, nome) => {
    const [first, ...others] = [0, 1, 2].map((way) =>
      parts.map(([letter, mark]) => letter[way]! + (way === 2 ? mark : '')).join(''))
    fc.pre(!/A[AE\W]*A/i.test(others[0]!))
    return others.every((each) => key([each, nome]) === key([first!, nome]))
  }))
})

t.test('another letter is another person', async () => {
  fc.assert(fc.property(name, name, (cognome, nome) => key([`${cognome}X`, nome]) !== key([cognome, nome])))
})
