import { html } from '#src/lib/html.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { inRome, italianDay } from '#src/lib/time.ts'
import { failureText } from '../../service/soap/errors.ts'

/** The subject of an alarm: ids, references and days, never names of persons. Its log line has the same fields. */
export interface AlarmFacts {
  /** The submission: id and reference. */
  invio?: number
  ricevuta?: string
  tentativo?: number
  /** The bookings of the submission. In `booking-changed`, only the bookings that changed. */
  prenotazioni?: readonly number[]
  /** A booking, and the number of its guests whom the police does not have. */
  prenotazione?: number
  ospiti_mancanti?: number
  /** The establishments of the bookings, if there are several in the installation. The log has their ids. */
  strutture?: readonly { id: number, nome: string | null }[]
  /** A day of the police account `utente`, or the arrival of a booking. */
  giorno?: string
  utente?: string
  /** A legal deadline in ISO 8601, and the minutes before it at which the alarm is due. */
  scadenza?: string
  minuti?: number
  /** Start of the problem, in ISO 8601. */
  dal?: string
  /** The host name of a server. */
  macchina?: string
  /** The rule that the reconciliation applied. */
  regola?: string
  /** The kind or text of an error. */
  errore?: string
}

interface Kind {
  /** The log message: fixed, in English. */
  message: string
  /** The facts that identify a problem, for which one alarm a day is raised. */
  identifiedBy: readonly (keyof AlarmFacts)[]
  /** The subject of the mail. `text` explains the alarm and gives advice. */
  subject: string
  text: string
}

const RISK = 'Non inviare di nuovo gli stessi ospiti: il sistema li rifiuta.'
const DECIDE = 'Se il dubbio resta, un amministratore decide con POST /api/v1/invii/{id}/decisione.'
const PORTAL = 'Confrontare la ricevuta del giorno con il portale Alloggiati Web.'

const ALARM_KINDS = {
  'unknown-outcome': {
    message: 'the outcome of a submission is unknown',
    identifiedBy: ['invio', 'tentativo'],
    subject: 'Invio di esito sconosciuto',
    text: `Non si sa se la Polizia ha acquisito le schedine. ${RISK} Controllare il portale, in «Analisi invii». ` +
      `Anche la ricevuta del giorno, disponibile da domani, può provarlo. ${DECIDE}`
  },
  'late-reply': {
    message: 'a late reply: guests who were sent again had already been acquired (possible duplicate)',
    identifiedBy: ['invio', 'tentativo'],
    subject: 'Possibile doppia comunicazione',
    text: 'Una risposta tardiva dice che la Polizia aveva già acquisito le schedine. Intanto sono state inviate di ' +
      'nuovo. Solo la Questura può correggere i dati registrati: scrivere alla Questura.'
  },
  'for-a-person': {
    message: 'a person must check a submission',
    identifiedBy: ['invio'],
    subject: 'Invio da verificare',
    text: 'Il sistema non può stabilire l’esito dell’invio. Leggere la nota con GET /api/v1/invii/{id}, controllare ' +
      'il portale, e decidere con POST /api/v1/invii/{id}/decisione.'
  },
  'refused-late': {
    message: 'a submission without a waiting caller was not sent, or guests of it were refused',
    identifiedBy: ['invio', 'tentativo'],
    subject: 'Schedine non acquisite dopo la risposta',
    text: 'Chi ha chiesto l’invio non ne conosce l’esito: la Polizia non ha acquisito tutte le schedine. Leggere il ' +
      'motivo di ogni ospite con GET /api/v1/invii/{id}. Correggere i dati, e inviare di nuovo la prenotazione con ' +
      'solo_mancanti.'
  },
  'booking-changed': {
    message: 'a waiting submission was not sent: its booking has changed',
    identifiedBy: ['invio'],
    subject: 'Invio non partito, prenotazione cambiata',
    text: 'La prenotazione o i suoi ospiti sono cambiati prima dell’invio. L’invio non è partito, per non comunicare ' +
      'dati superati. Controllare la prenotazione e inviarla di nuovo.'
  },
  deadline: {
    message: 'guests are not acquired yet, and their legal deadline is near or past',
    identifiedBy: ['prenotazione', 'invio', 'scadenza', 'minuti'],
    subject: 'Ospiti non ancora comunicati, scadenza vicina',
    text: 'La legge richiede la comunicazione entro la scadenza indicata. Completare i dati degli ospiti e inviarli. ' +
      'Se il servizio non risponde, scaricare il file con POST /api/alloggiati/file e mandarlo alla Questura per PEC.'
  },
  'deadline-open': {
    message: 'the legal deadline of an unfinished submission is near or past',
    identifiedBy: ['invio', 'scadenza', 'minuti'],
    subject: 'Invio non ancora concluso, scadenza vicina',
    text: 'L’invio indicato aspetta di partire, è in corso, è di esito sconosciuto o è da verificare: lo stato è in ' +
      `GET /api/v1/invii/{id}. ${RISK} ${DECIDE}`
  },
  'missing-receipt': {
    message: 'the receipt of a day with acquired guests is missing',
    identifiedBy: ['utente', 'giorno'],
    subject: 'Manca la ricevuta di un giorno',
    text: 'La Polizia conserva le ricevute per 30 giorni. Controllare le credenziali con GET /api/alloggiati/check. ' +
      'Poi chiedere la ricevuta con GET /api/alloggiati/ricevute, o scaricarla dal portale.'
  },
  twice: {
    message: 'the receipt proves an acquisition, and another attempt may also be acquired: possible duplicate',
    identifiedBy: ['giorno', 'invio'],
    subject: 'Possibile doppia comunicazione',
    text: 'La ricevuta prova che la Polizia ha acquisito l’invio. Può avere acquisito anche un altro tentativo. ' +
      `${PORTAL} Solo la Questura può correggere i dati registrati.`
  },
  elsewhere: {
    message: 'the receipt proves an acquisition that the ledger had closed otherwise: possible duplicate',
    identifiedBy: ['giorno', 'invio'],
    subject: 'Possibile doppia comunicazione',
    text: `La ricevuta prova che la Polizia ha acquisito un invio chiuso con un altro esito. ${PORTAL}`
  },
  denied: {
    message: 'the receipt contradicts the decision of a person',
    identifiedBy: ['giorno', 'invio'],
    subject: 'La ricevuta smentisce una decisione',
    text: `Una persona aveva deciso che l’invio era acquisito, ma la ricevuta non lo conta. ${PORTAL} ${DECIDE}`
  },
  contradiction: {
    message: 'the receipt counts fewer schedine than are known to be acquired',
    identifiedBy: ['utente', 'giorno', 'invio'],
    subject: 'La ricevuta conta meno degli invii',
    text: 'La ricevuta conta meno schedine di quelle che la Polizia ha dichiarato acquisite. ' +
      `${PORTAL} ${DECIDE}`
  },
  'no-match': {
    message: 'the receipt does not add up: schedine were filed with the account elsewhere, or it was misread',
    identifiedBy: ['utente', 'giorno', 'invio'],
    subject: 'La ricevuta non corrisponde agli invii',
    text: `Nessuna combinazione degli invii corrisponde alla ricevuta. Forse l’account è usato anche altrove. ${PORTAL}`
  },
  excess: {
    message: 'the receipt counts more schedine than were sent, although the account is exclusive',
    identifiedBy: ['utente', 'giorno'],
    subject: 'La ricevuta conta più degli invii',
    text: `L’account è di uso esclusivo, ma la ricevuta conta più schedine di quelle inviate da qui. ${PORTAL}`
  },
  changed: {
    message: 'the receipt of a day has changed between two fetches',
    identifiedBy: ['utente', 'giorno'],
    subject: 'Una ricevuta è cambiata',
    text: `Due letture della ricevuta dello stesso giorno danno conteggi diversi, e non provano nulla. ${PORTAL}`
  },
  suspended: {
    message: 'sending is suspended: see GET /api/v1/invii/sospensione',
    identifiedBy: ['dal'],
    subject: 'Gli invii sono sospesi',
    text: 'Finché dura la sospensione nessun ospite viene comunicato. Leggere il motivo con GET ' +
      '/api/v1/invii/sospensione. Un amministratore riprende gli invii con POST /api/v1/invii/sospensione.'
  },
  'unwritable-folder': {
    message: 'the data folder is not writable: nothing is sent',
    identifiedBy: ['macchina'],
    subject: 'La cartella dati non è scrivibile',
    text: 'Il server non può registrare gli invii nella cartella dati (DATA_DIR), perciò non invia nulla. Liberare ' +
      'spazio sul disco (codice ENOSPC o EDQUOT), o ridare al server i permessi di scrittura (EACCES, EPERM, EROFS). ' +
      'Poi inviare gli ospiti ancora da comunicare.'
  },
  'broken-chain': {
    message: 'the ledger failed its verification: rows are altered or missing, or the chain head is unreadable',
    identifiedBy: [],
    subject: 'La verifica del registro degli invii è fallita',
    text: 'Nel registro mancano righe o sono state alterate, oppure il file ledger-chain.json non si può leggere. ' +
      'GET /api/v1/invii/verifica indica il primo errore. Conservare una copia della base dati e confrontare le ' +
      'ricevute prima di inviare ancora.'
  }
} as const satisfies Readonly<Record<string, Kind>>

export type AlarmKind = keyof typeof ALARM_KINDS

/** The entry of a kind, with its common type. */
export function kindOf (kind: AlarmKind): Kind {
  return ALARM_KINDS[kind]
}

type Content = Omit<Mail, 'to'>

/** The content of a mail: paragraphs, then sections with one line per case. */
interface Letter { subject: string, paragraphs: readonly string[], sections: readonly Section[] }
interface Section { title: string, lines: readonly string[] }

/** Maximum number of cases listed in a section of a mail. Its last line counts the other cases. */
const MAX_LINES = 100

/** The mail of an alarm, with the cases and advice. In Italian, without names of persons. */
export function alarmMail (kind: AlarmKind, cases: readonly AlarmFacts[], mode: 'sandbox' | 'production'): Content {
  const { subject, text } = kindOf(kind)
  return letter({ subject, paragraphs: [text], sections: [{ title: 'Riguarda', lines: cases.map(describe) }] }, mode)
}

/** A mail as text and as HTML. The subject marks sandbox mails, which do not concern the police. */
export function letter ({ subject, paragraphs, sections }: Letter, mode: 'sandbox' | 'production'): Content {
  const written = sections.map(({ title, lines }) => ({ title, lines: shorten(lines) }))
  return {
    subject: `Alloggiati Web${mode === 'sandbox' ? ' (sandbox)' : ''}: ${subject}`,
    text: [
      ...paragraphs,
      ...written.map(({ title, lines }) => [`${title}:`, ...lines.map((line) => `- ${line}`)].join('\n'))
    ].join('\n\n') + '\n',
    html: html`${paragraphs.map((each) => html`<p>${each}</p>`)}${written.map(({ title, lines }) =>
      html`<p>${title}:</p><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`)}`.html
  }
}

function shorten (lines: readonly string[]): readonly string[] {
  const more = lines.length - MAX_LINES
  return more <= 0 ? lines : [...lines.slice(0, MAX_LINES), `e ${countWithNoun(more, 'altro', 'altri')}`]
}

/** Describes a case in Italian. */
export function describe (facts: AlarmFacts): string {
  const { invio, ricevuta, tentativo, prenotazione, prenotazioni: bookings, giorno, utente, scadenza } = facts
  const { ospiti_mancanti: missing, strutture: houses, dal, macchina } = facts
  const parts = [
    named('prenotazione', prenotazione),
    named(bookings?.length === 1 ? 'prenotazione' : 'prenotazioni', bookings?.join(', ')),
    named('struttura', houses?.map(({ id, nome }) => nome ?? id).join(', ')),
    missing === undefined ? undefined : countWithNoun(missing, 'ospite da comunicare', 'ospiti da comunicare'),
    named('invio', ricevuta),
    named('id dell’invio', invio),
    named('tentativo', tentativo),
    named('giorno', giorno && italianDay(giorno)),
    named('account', utente),
    named('scadenza', scadenza && inRome(new Date(scadenza))),
    dal === undefined ? undefined : dayWithArticle('dal', new Date(dal)),
    named('server', macchina),
    facts.errore && failureText(facts.errore)
  ]
  return parts.filter((part) => part !== undefined).join(', ') || 'il registro'
}

function named (word: string, value: string | number | undefined): string | undefined {
  return value === undefined ? undefined : `${word} ${value}`
}
