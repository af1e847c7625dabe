import type { Counts, DayAttempt } from './day.ts'
import type { Day } from '#src/lib/time.ts'

/* What a person is told of a submission, and why it is as it is. */

const counted = ({ schedine, notti }: Counts) => `schedine ${schedine}, notti ${notti}`

export const TEXTS = {
  acquired: (giorno: Day) => `La ricevuta del ${giorno} prova che è stato acquisito`,
  balanced: (giorno: Day) => `La ricevuta del ${giorno} torna`,
  notAcquired: (giorno: Day) => `La ricevuta del ${giorno} prova che non è stato acquisito`,
  tooLate: (giorno: Day) => `${TEXTS.notAcquired(giorno)}; la finestra di arrivo è chiusa: va comunicato per altra via`,
  otherUnknown: (giorno: Day) => `${TEXTS.notAcquired(giorno)}, ma un altro tentativo è di esito sconosciuto`,
  denied: (giorno: Day) => `La ricevuta del ${giorno} smentisce la decisione: non risulta acquisito`,
  noReceipt: (giorno: Day) => `La ricevuta del ${giorno} manca o non è leggibile: può essere stato acquisito oppure no`,
  oneLook: (giorno: Day) =>
    `Suggerimento: non acquisito. La ricevuta del ${giorno} non lo conta, ma è stata letta una volta sola`,
  changed: (giorno: Day) => `La ricevuta del ${giorno} è cambiata fra una lettura e l'altra: non prova nulla`,
  midnight: ({ giorno_da, giorno_a }: DayAttempt) =>
    `Inviato a cavallo della mezzanotte: può stare nella ricevuta del ${giorno_da} o del ${giorno_a}`,
  besideMidnight: (giorno: Day) =>
    `Il ${giorno} un altro invio è a cavallo della mezzanotte: la ricevuta da sola non prova nulla`,
  notExclusive: (giorno: Day) =>
    `Suggerimento: acquisito. La ricevuta del ${giorno} torna, ma l'account può essere stato usato anche altrove`,
  suggestion: (giorno: Day, acquired: boolean) =>
    `Suggerimento: ${acquired ? '' : 'non '}acquisito. È la sola combinazione che dà la ricevuta del ${giorno}`,
  ambiguous: (giorno: Day) => `Più combinazioni danno la ricevuta del ${giorno}: verificare sul portale`,
  contradiction: (giorno: Day, receipt: Counts, known: Counts) =>
    `La ricevuta del ${giorno} (${counted(receipt)}) non torna con gli invii noti (${counted(known)})`
} as const

/* Alarms, for the log: no person's data, no Italian. */
export const ALARMS = {
  twice: 'acquired by the receipt, and a further attempt was or may have been acquired: possible duplicate',
  elsewhere: 'acquired by the receipt although the ledger had closed it otherwise: possible duplicate',
  denied: 'the receipt denies what a person decided',
  contradiction: 'the receipt counts less than is known to be acquired',
  noMatch: 'the receipt does not add up: somebody else files with the account, or it was misread',
  excess: 'the receipt counts more than was sent, and the account is said to be exclusive',
  changed: 'the receipt of a day has changed between two looks'
} as const
