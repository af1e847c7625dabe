import { endOf, FILLER, isFiller } from './digits.ts'

export interface Names {
  surname: string
  given: string
  /** Whether the name fills its field, so that it may be cut. */
  cut: boolean
}

/**
 * Splits a combined field into surname and given names at the first double filler. Without a double filler, the whole
 * field is the surname. Some documents have further double fillers, which become blanks.
 */
export function splitNames (line: string, from: number, to: number): Names {
  const end = endOf(line, from, to)
  let [surname, given] = ['', '']
  let isGiven = false
  let begin = from
  for (let at = from; at <= end; at++) {
    if (at < end && !isFiller(line, at)) continue
    if (at === begin) {
      isGiven ||= at > from
    } else if (isGiven) {
      given = withWord(given, line.slice(begin, at))
    } else {
      surname = withWord(surname, line.slice(begin, at))
    }
    begin = at + 1
  }
  return { surname, given, cut: end === to }
}

function withWord (name: string, word: string): string {
  return name === '' ? word : `${name} ${word}`
}

/** A name with fillers replaced by blanks. */
export function plainName (line: string, from: number, to: number): string {
  let name = ''
  for (let at = from; at < to;) {
    const filler = line.indexOf(FILLER, at)
    const end = filler === -1 || filler > to ? to : filler
    if (end > at) name = withWord(name, line.slice(at, end))
    at = end + 1
  }
  return name
}
