import type { Counts, DayAttempt } from './day.ts'
import type { Day } from '#src/lib/time.ts'

/* The texts that a person is shown about a submission. */

const formatCounts = ({ schedine, notti }: Counts) => `schedine ${schedine}, notti ${notti}`

export const TEXTS = {
  acquired: (day: Day) => `La ricevuta del ${day} prova che è stato acquisito`,
  balanced: (day: Day) => `La ricevuta del ${day} torna`,
  notAcquired: (day: Day) => `La ricevuta del ${day} prova che non è stato acquisito`,
  tooLate: (day: Day) => `${TEXTS.notAcquired(day)}; la finestra di arrivo è chiusa: va comunicato per altra via`,
  otherUnknown: (day: Day) => `${TEXTS.notAcquired(day)}, ma un altro tentativo è di esito sconosciuto`,
  denied: (day: Day) => `La ricevuta del ${day} smentisce la decisione: non risulta acquisito`,
  noReceipt: (day: Day) => `La ricevuta del ${day} manca o non è leggibile: può essere stato acquisito oppure no`,
  oneFetch: (day: Day) =>
    `Suggerimento: non acquisito. La ricevuta del ${day} non lo conta, ma è stata letta una volta sola`,
  changed: (day: Day) => `La ricevuta del ${day} è cambiata fra una lettura e l'altra: non prova nulla`,
  midnight: ({ giorno_da, giorno_a }: DayAttempt) =>
    `Inviato a cavallo della mezzanotte: può stare nella ricevuta del ${giorno_da} o del ${giorno_a}`,
  besideMidnight: (day: Day) =>
    `Il ${day} un altro invio è a cavallo della mezzanotte: la ricevuta da sola non prova nulla`,
  notExclusive: (day: Day) =>
    `Suggerimento: acquisito. La ricevuta del ${day} torna, ma l'account può essere stato usato anche altrove`,
  suggestion: (day: Day, acquired: boolean) =>
    `Suggerimento: ${acquired ? '' : 'non '}acquisito. È la sola combinazione che dà la ricevuta del ${day}`,
  ambiguous: (day: Day) => `Più combinazioni danno la ricevuta del ${day}: verificare sul portale`,
  contradiction: (day: Day, receipt: Counts, known: Counts) =>
    `La ricevuta del ${day} (${formatCounts(receipt)}) non torna con gli invii noti (${formatCounts(known)})`
} as const
