import type { DeliveryStatus } from '#src/services/mail/delivery-status.ts'
import { REFUSED_LOGIN, UNREADABLE } from '#src/services/mail/smtp-errors.ts'

/** Enhanced status codes, by subject and detail: RFC 3463, 4954 (7.8), 7372 (7.20 to 7.26) and 7505 (1.10, 7.27). */
const ENHANCED: Readonly<Record<string, string>> = {
  1.1: 'la casella del destinatario non esiste',
  1.2: 'il dominio del destinatario non esiste o non riceve posta',
  1.3: 'l’indirizzo del destinatario non è scritto in modo valido',
  1.4: 'l’indirizzo del destinatario è ambiguo',
  1.6: 'il destinatario ha cambiato indirizzo',
  1.7: 'l’indirizzo del mittente non è scritto in modo valido',
  1.8: 'il dominio del mittente non esiste',
  '1.10': 'il dominio del destinatario non riceve posta',
  2.1: 'la casella del destinatario è disattivata',
  2.2: 'la casella del destinatario è piena',
  2.3: 'il messaggio è troppo grande per la casella del destinatario',
  3.1: 'il server del destinatario non ha più spazio',
  3.2: 'il server del destinatario non accetta posta in questo momento',
  3.4: 'il messaggio è troppo grande',
  4.1: 'il server del destinatario non risponde',
  4.2: 'il collegamento con il server del destinatario si è interrotto',
  4.3: 'l’indirizzo del server del destinatario non si può cercare',
  4.4: 'il server del destinatario non si trova',
  4.5: 'la posta è congestionata',
  4.7: 'il messaggio non è stato consegnato in tempo',
  5.3: 'troppi destinatari',
  7.1: 'la consegna non è autorizzata',
  7.8: 'le credenziali del server di posta non sono valide',
  '7.20': 'manca una firma DKIM valida del mittente',
  7.23: 'il controllo SPF del mittente non riesce',
  7.25: 'il server che spedisce non ha un nome valido (DNS inverso)',
  7.26: 'il mittente non supera i controlli di autenticità',
  7.27: 'il dominio del mittente non riceve posta'
}

/** Enhanced status codes, by subject alone: RFC 3463, 2. */
const SUBJECTS: Readonly<Record<string, string>> = {
  0: 'il server di posta non dice il motivo',
  1: 'l’indirizzo non va bene',
  2: 'la casella del destinatario ha un problema',
  3: 'il server del destinatario ha un problema',
  4: 'la posta non arriva al server del destinatario',
  5: 'i server di posta non si sono capiti',
  6: 'il contenuto del messaggio non è accettato',
  7: 'una regola di sicurezza del server di posta lo impedisce'
}

/** Reply codes without an enhanced status code: RFC 5321, 4.2.3. */
const REPLIES: Readonly<Record<string, string>> = {
  421: 'il server di posta non è disponibile',
  450: 'la casella del destinatario non è disponibile in questo momento',
  451: 'il server di posta ha avuto un problema',
  452: 'il server di posta non ha più spazio',
  530: 'il server di posta chiede credenziali o una connessione cifrata',
  535: 'le credenziali del server di posta non sono valide',
  550: 'la casella del destinatario non esiste o non è accessibile',
  551: 'il destinatario non è di questo server',
  552: 'la casella del destinatario è piena o il messaggio troppo grande',
  553: 'il nome della casella del destinatario non è ammesso',
  554: 'il server di posta ha rifiutato il messaggio'
}

/** Failures without a reply from the mail server. */
const FAILURES: Readonly<Record<string, string>> = {
  [REFUSED_LOGIN]: REPLIES[535]!,
  [UNREADABLE]: 'il messaggio non si può più leggere: la chiave del servizio è cambiata'
}

/** The state of a mail, and the reason as an Italian text for the user. */
export function explain ({ stato, reply, last_error }: Pick<DeliveryStatus, 'stato' | 'reply' | 'last_error'>): string {
  switch (stato) {
    case 'inviata': return 'Accettata dal server di posta'
    case 'fallita': return `Non consegnata: ${reason(reply, last_error)}`
    case 'in_coda': return last_error === null
      ? 'In coda: sarà inviata appena possibile'
      : `In coda: ${reason(reply, last_error)}; l’invio si ripete da solo, fino a 24 ore`
  }
}

function reason (reply: string | null, code: string | null): string {
  if (reply === null) return FAILURES[code ?? ''] ?? 'il server di posta non è raggiungibile o non risponde'
  const [basic = '', enhanced = ''] = reply.split(' ')
  const [, subject = '', detail = ''] = enhanced.split('.')
  return ENHANCED[`${subject}.${detail}`] ?? SUBJECTS[subject] ?? REPLIES[basic] ??
    'il server di posta ha rifiutato il messaggio'
}
