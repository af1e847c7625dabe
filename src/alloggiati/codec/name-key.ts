import { foldName } from './folding.ts'

/**
 * What stays of a name however it is spelled: its letters alone, in the order of the alphabet, without marks,
 * apostrophes and blanks. So neither the order of the names or of their words counts, nor where one ends and the next
 * begins: LI WEI is WEI LI, DE LUCA ANNA-MARIA is DELUCA MARIA ANNA. Ä and AE, Ö, Ø and OE, Ü and UE are one letter
 * each, wherever a word may end between the two: an E does not count at all. Å and AA, Đ and DJ are one letter each
 * inside a word.
 */
export function nameKey (cognome: string, nome: string): string {
  const words = foldName(`${cognome} ${nome}`.replace(/['’]/g, '')).text.split(/[^A-Z]+/)
  const letters = words.map((word) => word.replaceAll('E', '').replace(/A+/g, 'A').replace(/DJ/g, 'D'))
  return [...letters.join('')].sort().join('')
}
