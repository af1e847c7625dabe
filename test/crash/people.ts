import type { Schedina } from '#schemas/schedina.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import type { SeededRandom } from './seeded-random.ts'

/** A fictitious person with a schedina. */
export interface Guest { n: number, schedina: Schedina }

interface Nights { arrival: Day, departure: Day }

interface Stem { cognome: readonly string[], nome: readonly string[] }

/** Names and their spelling variants. A person is first entered in the first spelling. */
const STEMS: readonly Stem[] = [
  { cognome: ['NICCOLÒ', "NICCOLO'", 'Niccolo’', 'NICCOLO'], nome: ['MARCO', 'Marco'] },
  { cognome: ["D'ANGELO", 'DANGELO', 'D ANGELO', 'd’Angelo'], nome: ['SARA'] },
  { cognome: ['DE LUCA', 'DELUCA', 'De Luca'], nome: ['ANNA-MARIA', 'ANNAMARIA', 'ANNA MARIA'] },
  { cognome: ['MÜLLER', 'MUELLER', 'Müller'], nome: ['JÖRG', 'JOERG'] },
  { cognome: ['LI'], nome: ['WEI', 'Wei'] }
]
/** Letters that encode the digits of a person's number, between two Qs. Every spelling contains them. */
const DIGITS = 'BCDFGHLMNP'
const MARKED = new RegExp(`Q([${DIGITS}]+)Q`)

function marker (n: number): string {
  return `Q${[...String(n)].map((digit) => DIGITS[Number(digit)]).join('')}Q`
}

function stemOf (n: number): Stem {
  return STEMS[n % STEMS.length]!
}

/** The person with number `n`, as first entered. */
export function person (n: number): Guest {
  const { cognome: [cognome], nome: [nome] } = stemOf(n)
  return guest(n, `${cognome} ${marker(n)}`, nome!)
}

/**
 * The same person, entered by another user: another spelling, perhaps swapped names, and the same document or one with
 * a typing error. One in three becomes a family member, who has no document.
 */
export function respelled ({ n }: Guest, random: SeededRandom): Guest {
  const stem = stemOf(n)
  const cognome = `${random.pick(stem.cognome)} ${marker(n)}`
  const nome = random.pick(stem.nome)
  const turned = random.fraction() < 0.3
  const numero_documento = random.fraction() < 0.5 ? documentOf(n) : `CX${documentOf(n).slice(2)}`
  const one = turned ? guest(n, nome, cognome) : guest(n, cognome, nome)
  return {
    n,
    schedina: random.fraction() < 1 / 3
      ? { ...one.schedina, tipo_alloggiato: '19', tipo_documento: '', numero_documento: '', luogo_rilascio: '' }
      : { ...one.schedina, numero_documento }
  }
}

/** The same person with a corrected birth date and perhaps surname. The document is unchanged. */
export function corrected ({ n }: Guest, random: SeededRandom): Guest {
  const { cognome: [cognome], nome: [nome] } = stemOf(n)
  const written = random.fraction() < 0.5 ? cognome! : 'CORRETTI'
  const { schedina } = guest(n, `${written} ${marker(n)}`, nome!)
  return { n, schedina: { ...schedina, data_nascita: '1981-06-16' } }
}

/** Inserts a family leader before the members. */
export function withLeader (guests: readonly Guest[], leader: () => Guest): Guest[] {
  const isMember = ({ schedina }: Guest) => schedina.tipo_alloggiato === '19'
  const members = guests.filter(isMember)
  if (members.length === 0) return [...guests]
  const { n, schedina } = leader()
  const head = { n, schedina: { ...schedina, tipo_alloggiato: '17' } }
  return [...guests.filter((one) => !isMember(one)), head, ...members]
}

function guest (n: number, cognome: string, nome: string): Guest {
  return { n, schedina: single({ cognome, nome, numero_documento: documentOf(n) }) }
}

function documentOf (n: number): string {
  return `CA${String(n).padStart(5, '0')}AA`
}

/** The person's number in a line, in any spelling. The names are at positions 15 to 94. */
export function personOf (line: string): number {
  const digits = MARKED.exec(line.slice(14, 94).replaceAll(/[^A-Z]/g, ''))![1]!
  return Number([...digits].map((letter) => DIGITS.indexOf(letter)).join(''))
}

/** Names, sex and birth date of a line, as written. */
export function identityOf (line: string): string {
  return line.slice(14, 105)
}

/** Whether two lines declare a common night. Positions 3 to 12 are the arrival, 13 to 14 the nights. */
export function isSameNight (one: string, other: string): boolean {
  const [first, last] = [one, other].map((line) => {
    const arrival = line.slice(2, 12).split('/').toReversed().join('-')
    return { arrival, departure: addDays(arrival, Number(line.slice(12, 14))) }
  }) as [Nights, Nights]
  return first.arrival < last.departure && last.arrival < first.departure
}

/**
 * Traits that identify a person in any spelling: birth date, and document if present. If both change, the person cannot
 * be recognized.
 */
export function traitsOf (line: string): string[] {
  const document = line.slice(139, 159).trim()
  return [line.slice(95, 105), ...document === '' ? [] : [document]]
}
