/** The fields of a record with their widths, in order. */
const WIDTHS = {
  tipo: 2,
  arrivo: 10,
  giorni: 2,
  cognome: 50,
  nome: 30,
  sesso: 1,
  nascita: 10,
  comune: 9,
  provincia: 2,
  stato: 9,
  cittadinanza: 9,
  documento: 5,
  numero: 20,
  rilascio: 9
}

type Guest = Record<keyof typeof WIDTHS, string>

/** An invented single guest, who arrives on the tests' day. */
const GUEST: Guest = {
  tipo: '16',
  arrivo: '21/11/2026',
  giorni: '03',
  cognome: "D'ESEMPIO",
  nome: 'ANNA MARIA',
  sesso: '2',
  nascita: '29/02/1984',
  comune: '412058091',
  provincia: 'RM',
  stato: '100000100',
  cittadinanza: '100000100',
  documento: 'IDENT',
  numero: 'CA00000AA',
  rilascio: '412058091'
}

const WITHOUT_DOCUMENT = { documento: '', numero: '', rilascio: '' }
export const ABROAD = { comune: '', provincia: '', stato: '100000216', cittadinanza: '100000216' }

/** The 168 characters of a guest. `changes` replace fields of the sample guest. */
export function guest (changes: Partial<Guest> = {}): string {
  const fields = { ...GUEST, ...changes }
  return Object.entries(WIDTHS).map(([name, width]) => fields[name as keyof Guest].padEnd(width)).join('')
}

/** A member (type 19 or 20) without a document. */
export function member (changes: Partial<Guest> = {}): string {
  return guest({ tipo: '19', ...WITHOUT_DOCUMENT, ...changes })
}
