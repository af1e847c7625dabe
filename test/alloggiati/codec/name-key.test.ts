import fc from 'fast-check'
import t from 'tap'
import { nameKey } from '#src/alloggiati/codec/name-key.ts'

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
const letters = (alphabet: string) => fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 12 })
const name = fc.oneof(letters('AEOUSBR'), letters('ABCDEFGHIJKLMNOPQRSTUVWXYZ'))

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
