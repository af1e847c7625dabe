/* Meanings of column names in Italian, English, German, Portuguese, French and Spanish. */

/** A column name in lower-case words without accents: `dataArrivo` is `data arrivo`, `Código` is `codigo`. */
export function wordsOf (field: string): string {
  return field.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
    .replace(/[^\p{L}\p{N}%]+/gu, ' ').trim()
}

/** Matches any of the words or phrases, separated by blanks. In a phrase `_` is a blank. */
const anyOf = (words: string) => `(?:${words.trim().split(/\s+/).join('|').replaceAll('_', ' ')})`
const word = (words: string) => new RegExp(`(?:^| )${anyOf(words)}(?: |$)`)

const COUNTED = anyOf(`nights? notti na?echte nachte noites noches nuits guests? ospiti gaste hospedes persons? persone
  personen adult\\w* erwachsene child(?:ren)? bambini kinder criancas infants? rooms camere quartos days giorni
  check_?ins? arrivi presenze pernottamenti`)
const COUNTS = new RegExp(`(?:^| )(?:${COUNTED}|anzahl|quantita|quantity|qty|count|righe|rows)(?: |$)`)

const MONEY = new RegExp(anyOf(`
  payout payment paid amount earning revenue \\bfees?\\b kommission provision commiss tax(?!i) prices?\\b prezzo tariff
  preis preco \\bprix import[oa] montant incass \\btass[ae]\\b taxa\\b impost[ae] betrag umsatz gross \\bnet\\b
  lordo nett?o brutto \\bdare\\b \\bavere\\b \\bvalor\\b ricav \\bcost deduction anzahlung kaution deposit caparra
  gebuhr reinigung cleaning pulizi[ae] limpeza \\brent\\b canone spese entrat[ae] uscit[ae] \\bcredit \\bdebit
  saldo balance kontostand ganhos \\bpago\\b \\btotal[ei]?\\b summe \\bvat\\b \\biva\\b \\brefund
`))

const CURRENCY = new RegExp(`(?:^| )${anyOf('currency valuta moneda moeda wahrung waehrung devise monnaie')}$`)

const NUMBER = anyOf('number numero nummer num nr no n')
/** Codes and numbers that name something: reservations, tax numbers, postcodes, telephones, rooms, accounts, years. */
const IDENTIFIES = [
  word(`ids? uuid codes? codic[ei] codigo cod ref reference riferimento referencia referenz phones? telefono telefone
    telefon tel mobile cellulare handy fax cap zip plz postcode codigo_postal iban bic swift konto conto account
    partita_iva p_iva piva nif nipc cin cir ust_id.* fiscale anno year jahr ano annee`),
  /nummer$|postleitzahl|kennung$/,
  new RegExp(`(?:^| )${NUMBER}$`),
  new RegExp(`^${NUMBER} (?!(?:di |of |de |der )?${COUNTED}(?: |$))`),
  new RegExp(`^${anyOf(`room camera zimmer quarto chambre unit unita alloggio apartment appartamento prenotazione
    booking reservation reserva buchung fattura invoice rechnung fatura documento document ricevuta`)}$`)
]
/** Numbers that are not money, and are not added: shares, rates, ratings, months. */
const RATIOS = [
  word(`percent\\w* prozent tasso aliquota quota satz cambio kurs wechselkurs ratings? voto punteggio scores? bewertung
    stelle stars?`),
  /%|percent|(?:^| )(?:rate|mese|month|monat|mes|occupancy|occupazione|auslastung)$/
]
/** Amounts whose sum has no meaning: averages, balances, prices of one night. */
const LEVELS = [
  word(`average avg medi[ao] mittel mean saldo balance kontostand adr revpar nightly
    (?:per|a|pro|por)_(?:night|notte|nacht|noite)`),
  /durchschnitt/
]

const isOneOf = (patterns: readonly RegExp[]) => (words: string): boolean => patterns.some((each) => each.test(words))

export const isIdentifier = isOneOf(IDENTIFIES)
export const isRatio = isOneOf(RATIOS)
export const isNotAdded = isOneOf([...RATIOS, ...LEVELS])
export const isMoney = (words: string): boolean => MONEY.test(words) && !COUNTS.test(words) && !isRatio(words)
export const isCurrencyName = (words: string): boolean => CURRENCY.test(words)
