import createError from '@fastify/error'
import type { Duplicato, EsitoSchedina, GiaInviato } from '#schemas/alloggiati.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { DECIDABLE_STATES, type State } from '#schemas/submission.ts'
import { counted } from '#src/lib/counted.ts'
import type { Day } from '#src/lib/time.ts'
import { ShapedError } from '#src/lib/errors.ts'

/**
 * Why a submission failed, with the text that a person reads. The code is also `dettagli.codice_errore` unless the
 * service gave its own.
 */
const CAUSES = {
  VALIDAZIONE: 'Le schedine contengono errori e non sono state inviate',
  CREDENZIALI_MANCANTI: 'Credenziali Alloggiati Web non configurate',
  CREDENZIALI_RIFIUTATE: 'Il servizio ha rifiutato le credenziali: nessuna schedina è stata inviata',
  SERVIZIO_NON_RAGGIUNGIBILE: 'Servizio Alloggiati Web non raggiungibile: nessuna schedina è stata inviata',
  INVII_SOSPESI: 'Gli invii sono sospesi: nessuna schedina è stata inviata',
  CARTELLA_NON_SCRIVIBILE:
    'Il server non può scrivere nella sua cartella dati: nessuna schedina è stata inviata. Avvisare chi lo gestisce',
  RIFIUTATO_DAL_SERVIZIO: 'Il servizio ha rifiutato la richiesta: nessuna schedina è stata acquisita',
  SCHEDINE_RIFIUTATE: 'Il servizio ha rifiutato una o più schedine',
  INVIO_IN_CORSO: "L'invio è in corso e prosegue da solo: non va ripetuto, l'esito si legge con la ricevuta",
  NON_INVIATO: 'Nessuna schedina è stata inviata: si può inviare di nuovo',
  INVIO_ANNULLATO: "L'invio è stato annullato da un amministratore: non prosegue",
  ESITO_SCONOSCIUTO:
    'Esito sconosciuto: le schedine potrebbero essere state acquisite e non saranno inviate di nuovo da sole. ' +
    'Verificare la ricevuta di domani o il portale'
} as const

export type Cause = keyof typeof CAUSES

/** Nothing was sent, for a reason that may pass: the same request, with the same Idempotency-Key, may be made again. */
const NOT_SENT: ReadonlySet<Cause> = new Set([
  'CREDENZIALI_MANCANTI',
  'CREDENZIALI_RIFIUTATE',
  'SERVIZIO_NON_RAGGIUNGIBILE',
  'INVII_SOSPESI',
  'CARTELLA_NON_SCRIVIBILE',
  'RIFIUTATO_DAL_SERVIZIO',
  'NON_INVIATO'
])

interface Details {
  codice_errore?: string
  messaggio_soap?: string
  ricevuta?: string
  errors?: Segnalazione[]
  schedine?: EsitoSchedina[]
  /** What a person reads after the text of the cause: which guest, and why. People count from 1. */
  told?: string
}

/** The contract's failure shape of `invio`: 422 with `success: false` and `dettagli`; 202 for who asked not to wait. */
export class InvioFallito extends ShapedError {
  constructor (
    cause: Cause,
    { codice_errore = cause, messaggio_soap = '', told, ...rest }: Details = {},
    status: 422 | 202 = 422
  ) {
    super(
      cause,
      status,
      told === undefined ? CAUSES[cause] : `${CAUSES[cause]}: ${told}`,
      { success: false, dettagli: { codice_errore, messaggio_soap }, ...rest },
      NOT_SENT.has(cause)
    )
  }
}

const ONLY_QUESTURA = 'Ciò che la Polizia ha ricevuto può correggerlo solo la Questura'
const TO_GO_ON = `${ONLY_QUESTURA}. Se sono davvero altre persone, ripetere con confermo_diverso e motivo`

const TO_WAIT = 'Di esito sconosciuto: attendere la ricevuta di domani, o far decidere un amministratore. '

/** An unknown outcome that a person gave up to know. */
const GIVEN_UP = "L'invio fu annullato senza saperne l'esito: guardare nel portale Alloggiati Web, e comunicare da " +
  'lì chi manca (POST /api/alloggiati/file ne fa il file). '

const TO_SEND_MOVED = "L'arrivo che la Polizia ha ricevuto può correggerlo solo la Questura. " +
  'Per comunicare anche il nuovo arrivo, ripetere con confermo_diverso e motivo'

/** What a refusal of guests who were sent before depends on. */
interface Standing { confirmable?: boolean, othersLeft?: boolean, movedFrom?: Day | undefined }

const MOTIVI = { stessa_persona: 'stessa persona', stesso_documento: 'stesso documento' } as const

/** Guests who were sent before, or may have been, or who come twice in the list. Indices are of the request's list. */
export class SchedineGiaInviate extends ShapedError {
  readonly duplicati: readonly Duplicato[]
  readonly confirmable: boolean
  readonly movedFrom: Day | undefined
  /**
   * @param confirmable a person's word would let them pass: none of them is certainly the same
   * @param othersLeft guests of the booking against whom nothing stands: they can be sent
   * @param movedFrom the arrival with which all of them were sent: the booking was moved since
   */
  constructor (
    duplicati: readonly Duplicato[],
    { confirmable = true, othersLeft = false, movedFrom }: Standing = {}
  ) {
    const references = referencesOf(duplicati)
    const day = movedFrom === undefined ? '' : ` con l'arrivo del ${movedFrom}`
    const before = `Ospiti già inviati${day}, o di esito sconosciuto, con la ricevuta ${references.join(', ')}`
    const what = references.length === 0 ? 'Lo stesso ospite compare due volte' : before
    const isUnknown = duplicati.some(({ stato }) => DECIDABLE_STATES.some((each) => each === stato))
    const isGivenUp = duplicati.some(({ stato }) => stato === 'annullato')
    const toGoOn = movedFrom === undefined ? TO_GO_ON : TO_SEND_MOVED
    const advice = [
      isUnknown ? TO_WAIT : '',
      isGivenUp ? GIVEN_UP : '',
      othersLeft ? 'Gli altri ospiti si inviano con solo_mancanti. ' : '',
      confirmable ? toGoOn : `${ONLY_QUESTURA}; una conferma qui non serve: i dati sono gli stessi`
    ]
    super('SCHEDINE_GIA_INVIATE', 409, `${what}: ${duplicati.map(tell).join(', ')}. ${advice.join('')}`, {
      ...(references.length === 0 ? {} : { ricevuta: references[0] }),
      ospiti: guestsOf(duplicati),
      duplicati
    })
    this.confirmable = confirmable
    this.movedFrom = movedFrom
    this.duplicati = duplicati
  }
}

/** A submission that is being sent: what becomes of its guests will be known soon. */
export class SchedineInCorso extends ShapedError {
  readonly duplicati: readonly Duplicato[]
  readonly prenotazione_id: number | undefined
  /**
   * @param duplicati guests who are being sent already
   * @param prenotazione_id the booking whose places it holds, where its guests are others than these
   */
  constructor (ricevuta: string, stato: State, duplicati: readonly Duplicato[] = [], prenotazione_id?: number) {
    const guests = duplicati.length === 0 ? {} : { ospiti: guestsOf(duplicati), duplicati }
    const told = duplicati.length === 0 ? '' : ` (${duplicati.map(tell).join(', ')})`
    const text = `L'invio ${ricevuta} è in corso: l'esito si saprà fra poco${told}`
    super('INVIO_IN_CORSO', 409, text, { ricevuta, stato, ...guests }, true)
    this.duplicati = duplicati
    this.prenotazione_id = prenotazione_id
  }
}

interface Excess {
  prenotazione_id: number
  numero_ospiti: number
  gia_inviati: readonly GiaInviato[]
  /** Not too many were sent, but others than are saved now. */
  changed: boolean
}

/** More guests than the booking is for would be with the police, or guests whose data were changed since. */
export class OspitiOltreLaPrenotazione extends ShapedError {
  readonly prenotazione_id: number
  constructor ({ changed, ...excess }: Excess) {
    const sent = counted(excess.gia_inviati.length, 'ospite già inviato', 'ospiti già inviati')
    const references = [...new Set(excess.gia_inviati.map(({ ricevuta }) => ricevuta))]
    const with_ = references.length === 0 ? '' : ` con la ricevuta ${references.join(', ')}`
    const places = counted(excess.numero_ospiti, 'ospite', 'ospiti')
    const what = changed
      ? `La prenotazione ha ${sent}${with_} che ora non è fra quelli salvati: se i suoi dati sono stati corretti, ` +
        'è già comunicato (POST /api/v1/invii/:id/correzione annota la richiesta alla Questura)'
      : `La prenotazione è per ${places}, ${sent}${with_}: con questo invio sarebbero di più`
    super(changed ? 'OSPITI_CAMBIATI' : 'OSPITI_OLTRE_LA_PRENOTAZIONE', 409, `${what}. ${TO_GO_ON}`, excess)
    this.prenotazione_id = excess.prenotazione_id
  }
}

/** Every guest that is saved of the booking is with the police, or may be. */
export class NullaDaInviare extends ShapedError {
  /** @param unsaved how many guests of the booking are not saved yet */
  constructor (ricevute: readonly string[], unsaved: number) {
    const others = counted(unsaved, 'altro ospite non è ancora salvato', 'altri ospiti non sono ancora salvati')
    const what = 'tutti gli ospiti salvati della prenotazione sono già inviati, o di esito sconosciuto'
    const left = unsaved === 0 ? '' : `; ${others}`
    const text = `Nulla da inviare: ${what}, con la ricevuta ${ricevute.join(', ')}${left}`
    super('NULLA_DA_INVIARE', 409, text, { ricevute })
  }
}

function referencesOf (duplicati: readonly Duplicato[]): string[] {
  return [...new Set(duplicati.flatMap(({ ricevuta }) => ricevuta ?? []))]
}

function guestsOf (duplicati: readonly Duplicato[]): number[] {
  return [...new Set(duplicati.map(({ ospite }) => ospite))]
}

/** People count from 1. */
function tell ({ ospite, motivo, altro_ospite }: Duplicato): string {
  const other = altro_ospite === undefined ? '' : ` dell'ospite ${altro_ospite + 1}`
  return `ospite ${ospite + 1} (${MOTIVI[motivo]}${other})`
}

/** The contract's failure shape of `check`: 503 with `connected: false`. */
export class ConnessioneFallita extends ShapedError {
  constructor (cause: 'CREDENZIALI_MANCANTI' | 'CREDENZIALI_RIFIUTATE' | 'SERVIZIO_NON_RAGGIUNGIBILE', reason: string) {
    super(cause, 503, reason, { connected: false })
  }
}

/** The service is needed for something else than a submission, and is not there. */
export const ServizioNonRaggiungibile = createError(
  'SERVIZIO_NON_RAGGIUNGIBILE',
  'Servizio Alloggiati Web non raggiungibile: riprovare più tardi',
  503
)
export const CredenzialiMancanti = createError(
  'CREDENZIALI_MANCANTI',
  'Credenziali Alloggiati Web non configurate',
  503
)
export const CartellaNonScrivibile = createError(
  'CARTELLA_NON_SCRIVIBILE',
  'Il server non può scrivere nella sua cartella dati',
  503
)
export const InvioInCorso = createError(
  'INVIO_IN_CORSO',
  'Prenotazioni con un invio alla Polizia ancora aperto: %s',
  409
)
export const RicevutaNonTrovata = createError('RICEVUTA_NON_TROVATA', 'Nessuna ricevuta per la data richiesta', 404)

export const InvioNonTrovato = createError('INVIO_NON_TROVATO', 'Invio non trovato', 404)
export const InvioCambiato = createError(
  'INVIO_CAMBIATO',
  "L'invio è cambiato nel frattempo: ora è alla versione %s, nello stato %s",
  409
)
export const NullaDaDecidere = createError(
  'NULLA_DA_DECIDERE',
  'Si decide solo di un invio sconosciuto o da verificare: questo è nello stato %s',
  409
)
export const DecisioneNonPossibile = createError('DECISIONE_NON_POSSIBILE', 'Decisione non possibile: %s', 409)
