import type { Duplicato, GiaInviato } from '#schemas/alloggiati.ts'
import type { BookingState } from '#schemas/booking.ts'
import { isDecidable, isUnresolved, type RowOutcome, type State } from '#schemas/submission.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { ShapedError } from '#src/lib/errors.ts'
import type { Day } from '#src/lib/time.ts'

/* Errors that block a Send because of earlier Sends, or because of changes of the booking. */

const ONLY_QUESTURA = 'Ciò che la Polizia ha ricevuto può correggerlo solo la Questura'
const TO_GO_ON = `${ONLY_QUESTURA}. Se sono davvero altre persone, ripetere con confermo_diverso e motivo`

const TO_WAIT = 'Per gli esiti sconosciuti attendere la ricevuta di domani, o far decidere un amministratore. '

/** Advice on a submission that a person cancelled without knowing its outcome. */
const GIVEN_UP = 'L’invio è stato annullato senza saperne l’esito: guardare nel portale Alloggiati Web, e ' +
  'comunicare da lì chi manca (POST /api/alloggiati/file ne fa il file). '

/** Advice on unknown outcomes, by the states of their submissions. */
function adviceOn (states: readonly (State | null)[]): string[] {
  return [states.some(isDecidable) ? TO_WAIT : '', states.includes('annullato') ? GIVEN_UP : '']
}

const TO_SEND_MOVED = 'L’arrivo che la Polizia ha ricevuto può correggerlo solo la Questura. ' +
  'Per comunicare anche il nuovo arrivo, ripetere con confermo_diverso e motivo'

interface RefusalDetails { confirmable?: boolean, othersLeft?: boolean, movedFrom?: Day | undefined }

const MOTIVI = { stessa_persona: 'stessa persona', stesso_documento: 'stesso documento' } as const

/** Guests who were or may have been sent before, or who are listed twice. Indices refer to the list of the request. */
export class SchedineGiaInviate extends ShapedError {
  readonly duplicati: readonly Duplicato[]
  readonly confirmable: boolean
  readonly movedFrom: Day | undefined
  /**
   * @param confirmable whether a confirmation lifts the conflict, because each guest may be another person
   * @param othersLeft whether other guests of the booking can be sent
   * @param movedFrom the arrival with which all were sent, before the booking was moved
   */
  constructor (
    duplicati: readonly Duplicato[], { confirmable = true, othersLeft = false, movedFrom }: RefusalDetails = {}
  ) {
    const references = referencesOf(duplicati)
    const day = movedFrom === undefined ? '' : ` con l’arrivo ${dayWithArticle('del', movedFrom)}`
    const who = guestsOf(duplicati).length === 1 ? 'Ospite già inviato' : 'Ospiti già inviati'
    const before = `${who}${day}, o di esito sconosciuto, con ${namedReceipts(references)}`
    const what = references.length === 0 ? 'Lo stesso ospite compare due volte' : before
    const toGoOn = movedFrom === undefined ? TO_GO_ON : TO_SEND_MOVED
    const advice = [
      ...adviceOn(duplicati.map(({ stato }) => stato)),
      othersLeft ? 'Gli altri ospiti si inviano con solo_mancanti. ' : '',
      confirmable ? toGoOn : `${ONLY_QUESTURA}; una conferma qui non serve: i dati sono gli stessi`
    ]
    super('SCHEDINE_GIA_INVIATE', 409, `${what}: ${duplicati.map(describeDuplicate).join(', ')}. ${advice.join('')}`, {
      ...(references.length === 0 ? {} : { ricevuta: references[0] }),
      ospiti: guestsOf(duplicati),
      duplicati
    })
    this.confirmable = confirmable
    this.movedFrom = movedFrom
    this.duplicati = duplicati
  }
}

interface UnderWay {
  /** The time at which the waiting submission is retried. */
  waitsUntil?: Date | undefined
  duplicati?: readonly Duplicato[]
  /** The booking, when guests of the submission already fill its places, so that no other guest can be sent. */
  prenotazione_id?: number
}

export function describeWaiting (until: Date): string {
  return `non è ancora partito e si riprova da solo, ${dayWithArticle('il', until)}. Fino ad allora un ` +
    'amministratore lo può annullare (POST /api/v1/invii/:id/decisione)'
}

/** A submission in progress. It is being sent, or waits for a retry. */
export class SchedineInCorso extends ShapedError {
  readonly duplicati: readonly Duplicato[]
  readonly prenotazione_id: number | undefined
  constructor (ricevuta: string, stato: State, { waitsUntil, duplicati = [], prenotazione_id }: UnderWay = {}) {
    const guests = duplicati.length === 0 ? {} : { ospiti: guestsOf(duplicati), duplicati }
    const duplicates = duplicati.length === 0 ? '' : ` (${duplicati.map(describeDuplicate).join(', ')})`
    const when = waitsUntil === undefined ? 'l’esito si saprà fra poco' : describeWaiting(waitsUntil)
    const next = waitsUntil === undefined ? {} : { riprova_il: waitsUntil.toISOString() }
    const text = `L’invio ${ricevuta} è in corso: ${when}${duplicates}`
    super('INVIO_IN_CORSO', 409, text, { ricevuta, stato, ...next, ...guests }, true)
    this.duplicati = duplicati
    this.prenotazione_id = prenotazione_id
  }
}

/** A booking for which more guests would be sent than it has, or whose sent guests are not saved any more. */
export interface Excess {
  prenotazione_id: number
  numero_ospiti: number
  gia_inviati: readonly (GiaInviato & { esito: RowOutcome })[]
  /** The number of guests is right, but sent guests are not saved any more. They may have been corrected. */
  changed: boolean
}

/** More guests would be sent than the booking has, or guests were changed after they were sent. */
export class OspitiOltreLaPrenotazione extends ShapedError {
  readonly prenotazione_id: number
  constructor ({ changed, gia_inviati, ...booking }: Excess) {
    const guests = countWithNoun(booking.numero_ospiti, 'ospite', 'ospiti')
    const sent = describeSent(gia_inviati)
    const unknown = gia_inviati.filter(({ esito }) => isUnresolved(esito))
    const perhaps = unknown.length === 0 ? '' : 'forse '
    const what = changed
      ? `La prenotazione ha ${sent}, ora non fra quelli salvati: se i dati sono stati corretti, ${perhaps}la Polizia ` +
        'ha già la persona (POST /api/v1/invii/:id/correzione annota la richiesta alla Questura)'
      : `La prenotazione è per ${guests}, con ${sent}: con questo invio sarebbero di più`
    const advice = [...adviceOn(unknown.map(({ stato }) => stato)), TO_GO_ON].join('')
    super(changed ? 'OSPITI_CAMBIATI' : 'OSPITI_OLTRE_LA_PRENOTAZIONE', 409, `${what}. ${advice}`, {
      ...booking,
      gia_inviati: gia_inviati.map(({ esito, ...each }) => each)
    })
    this.prenotazione_id = booking.prenotazione_id
  }
}

function describeSent (rows: Excess['gia_inviati']): string {
  const parts = SENT_WORDS.flatMap(([one, many, isIncluded]) => {
    const included = rows.filter(({ esito }) => isIncluded(esito))
    const references = namedReceipts([...new Set(included.map(({ ricevuta }) => ricevuta))])
    return included.length === 0 ? [] : `${countWithNoun(included.length, one, many)} (${references})`
  })
  return parts.length === 0 ? 'nessun ospite già inviato' : parts.join(' e ')
}

const SENT_WORDS: readonly [one: string, many: string, isIncluded: (esito: RowOutcome) => boolean][] = [
  ['ospite già inviato', 'ospiti già inviati', (esito) => esito === 'acquisita'],
  ['ospite comunicato per altra via', 'ospiti comunicati per altra via', (esito) => esito === 'depositata'],
  ['ospite di esito sconosciuto', 'ospiti di esito sconosciuto', isUnresolved]
]

/** Bookings changed, or were deleted, after their guests were read. Their outdated data must not be sent. */
export class PrenotazioneCambiata extends ShapedError {
  readonly prenotazioni: readonly number[]
  constructor (prenotazioni: readonly number[]) {
    const text = 'La prenotazione è stata cambiata nel frattempo, o eliminata: non è stato inviato nulla, ripetere ' +
      'l’invio'
    super('PRENOTAZIONE_CAMBIATA', 409, text, { prenotazione_id: prenotazioni[0] }, true)
    this.prenotazioni = prenotazioni
  }
}

export function elsewhereText ({ prenotazione_id, ricevuta }: { prenotazione_id: number, ricevuta: string }): string {
  return `Ospiti della prenotazione ${prenotazione_id} sono già inviati con l’account di un’altra struttura ` +
    `(ricevuta ${ricevuta}), di cui la sua unità faceva parte prima`
}

/** Guests of a booking were sent with another account, when its unit was in another establishment. */
export class InviataConAltroAccount extends ShapedError {
  readonly prenotazione_id: number
  constructor (elsewhere: { prenotazione_id: number, ricevuta: string }) {
    super('INVIATA_CON_ALTRO_ACCOUNT', 409, `${elsewhereText(elsewhere)}. ${ONLY_QUESTURA}. Se gli altri ospiti ` +
      'alloggiano davvero nella nuova struttura, ripetere con confermo_diverso e motivo', elsewhere)
    this.prenotazione_id = elsewhere.prenotazione_id
  }
}

const NOT_CONFIRMED = { annullata: 'è annullata', non_presentato: 'ha lo stato «non presentato»' } as const

/** The booking is not confirmed, so its guests are not sent. */
export class PrenotazioneNonConfermata extends ShapedError {
  readonly prenotazione_id: number
  constructor (prenotazione_id: number, stato: Exclude<BookingState, 'confermata'>) {
    const text = `La prenotazione ${prenotazione_id} ${NOT_CONFIRMED[stato]}: non è stato inviato nulla. Se gli ` +
      `ospiti sono arrivati, prima riportarla a «confermata» (PUT /api/v1/prenotazioni/${prenotazione_id} con ` +
      '"stato": "confermata")'
    super('PRENOTAZIONE_NON_CONFERMATA', 409, text, { prenotazione_id })
    this.prenotazione_id = prenotazione_id
  }
}

/** @throws PrenotazioneNonConfermata */
export function requireConfirmed ({ id, stato }: { id: number, stato: BookingState }): void {
  if (stato !== 'confermata') throw new PrenotazioneNonConfermata(id, stato)
}

/** All saved guests of the booking are, or may be, registered with the police. */
export class NullaDaInviare extends ShapedError {
  /** @param unsaved the number of guests of the booking who are not saved yet */
  constructor (ricevute: readonly string[], unsaved: number) {
    const others = countWithNoun(unsaved, 'altro ospite non è ancora salvato', 'altri ospiti non sono ancora salvati')
    const what = 'tutti gli ospiti salvati della prenotazione sono già inviati, o di esito sconosciuto'
    const left = unsaved === 0 ? '' : `; ${others}`
    const text = `Nulla da inviare: ${what}, con ${namedReceipts(ricevute)}${left}`
    super('NULLA_DA_INVIARE', 409, text, { ricevute })
  }
}

/** References with their Italian noun: `la ricevuta AW-1`, `le ricevute AW-1, AW-2`. */
export function namedReceipts (references: readonly string[]): string {
  return `${references.length === 1 ? 'la ricevuta' : 'le ricevute'} ${references.join(', ')}`
}

function referencesOf (duplicati: readonly Duplicato[]): string[] {
  return [...new Set(duplicati.flatMap(({ ricevuta }) => ricevuta ?? []))]
}

function guestsOf (duplicati: readonly Duplicato[]): number[] {
  return [...new Set(duplicati.map(({ ospite }) => ospite))]
}

/** Texts for users count guests from 1. */
function describeDuplicate ({ ospite, motivo, altro_ospite }: Duplicato): string {
  const other = altro_ospite === undefined ? '' : ` dell’ospite ${altro_ospite + 1}`
  return `ospite ${ospite + 1} (${MOTIVI[motivo]}${other})`
}
