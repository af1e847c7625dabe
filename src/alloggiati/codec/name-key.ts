import { foldName } from './folding.ts'

/**
 * What stays of a name however it is spelled: its letters alone, without marks, apostrophes and blanks; Ä and AE, Ö, Ø
 * and OE, Ü and UE, Å and AA are one letter each. The two parts are read as a ring, so that neither their order counts
 * nor where one ends and the other begins: LI WEI is WEI LI, DE LUCA ANNA-MARIA is DELUCA ANNAMARIA.
 */
export function nameKey (cognome: string, nome: string): string {
  const letters = foldName(cognome + nome).text.replace(/[^A-Z]/g, '')
  // The ring is opened where no pair of letters that count as one can be cut apart.
  const opening = Math.max(0, letters.search(/[^AE]/))
  const ring = (letters.slice(opening) + letters.slice(0, opening)).replace(/A[AE]+/g, 'A').replace(/([OU])E+/g, '$1')
  return smallestRotation(ring)
}

function smallestRotation (text: string): string {
  const rotations = Array.from(text, (_, at) => text.slice(at) + text.slice(0, at))
  return rotations.reduce((smallest, each) => (each < smallest ? each : smallest), text)
}
