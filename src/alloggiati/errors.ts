import createError from '@fastify/error'
import type { EsitoSchedina } from '#schemas/alloggiati.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { ShapedError } from '#src/lib/errors.ts'
import { NEW_WSKEY } from './service/police-faults.ts'

/**
 * Causes of a failed submission, with their texts for users. By default the code is also `dettagli.codice_errore`.
 */
const CAUSES = {
  VALIDAZIONE: 'Le schedine contengono errori, e nessuna è stata accettata: correggere i campi di errors',
  CREDENZIALI_MANCANTI: 'Credenziali Alloggiati Web non configurate',
  CREDENZIALI_RIFIUTATE: `Il servizio ha rifiutato le credenziali: nessuna schedina è stata inviata. ${NEW_WSKEY}`,
  SERVIZIO_NON_RAGGIUNGIBILE: 'Servizio Alloggiati Web non raggiungibile: nessuna schedina è stata inviata',
  INVII_SOSPESI:
    'Gli invii sono sospesi: nessuna schedina è stata inviata. Un amministratore deve confrontare le ricevute e ' +
    'riprendere gli invii (POST /api/v1/invii/sospensione)',
  CARTELLA_NON_SCRIVIBILE:
    'Il server non può scrivere nella sua cartella dati: nessuna schedina è stata inviata. Avvisare chi lo gestisce',
  PRENOTAZIONE_CAMBIATA:
    'La prenotazione è cambiata dopo la richiesta: nessuna schedina è stata inviata, si può inviare di nuovo',
  RIFIUTATO_DAL_SERVIZIO: 'Il servizio ha rifiutato la richiesta: nessuna schedina è stata acquisita',
  SCHEDINE_RIFIUTATE: 'Il servizio ha rifiutato una o più schedine',
  INVIO_IN_CORSO: 'L’invio è in corso e prosegue da solo: non va ripetuto, l’esito si legge con la ricevuta',
  NON_INVIATO: 'Nessuna schedina è stata inviata: si può inviare di nuovo',
  INVIO_ANNULLATO: 'L’invio è stato annullato da un amministratore: non prosegue',
  ESITO_SCONOSCIUTO:
    'Esito sconosciuto: le schedine potrebbero essere state acquisite e non saranno inviate di nuovo da sole. ' +
    'Verificare la ricevuta di domani o il portale'
} as const

export type Cause = keyof typeof CAUSES

/** Causes with which no guest is acquired, and a retry with the same Idempotency-Key may succeed. */
const NOT_SENT: ReadonlySet<Cause> = new Set([
  'CREDENZIALI_MANCANTI',
  'CREDENZIALI_RIFIUTATE',
  'SERVIZIO_NON_RAGGIUNGIBILE',
  'INVII_SOSPESI',
  'CARTELLA_NON_SCRIVIBILE',
  'PRENOTAZIONE_CAMBIATA',
  'RIFIUTATO_DAL_SERVIZIO',
  'NON_INVIATO'
])

interface Details {
  codice_errore?: string
  messaggio_soap?: string
  ricevuta?: string
  errors?: Segnalazione[]
  schedine?: EsitoSchedina[]
  /** Text after the cause. It names the guest by number, counted from 1, and gives the reason. */
  reason?: string
}

/** The failure of `invio` in the contract: 422 with `success: false` and `dettagli`, or 202 for `respond-async`. */
export class InvioFallito extends ShapedError {
  constructor (
    cause: Cause,
    { codice_errore = cause, messaggio_soap = '', reason, ...rest }: Details = {},
    status: 422 | 202 = 422
  ) {
    super(
      cause,
      status,
      reason === undefined ? CAUSES[cause] : `${CAUSES[cause]}: ${reason}`,
      { success: false, dettagli: { codice_errore, messaggio_soap }, ...rest },
      NOT_SENT.has(cause)
    )
  }
}

/** The failure of `check` in the contract: 503 with `connected: false`. */
export class ConnessioneFallita extends ShapedError {
  constructor (cause: string, reason: string) {
    super(cause, 503, reason, { connected: false })
  }
}

export const CredenzialiMancanti = createError(
  'CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate', 503
)
export const AccountDellAmbiente = createError(
  'ACCOUNT_DELL_AMBIENTE',
  'L’account della prima struttura viene dalle variabili ALLOGGIATI_* del server, e qui non si cambia',
  409
)
export const AccountInUso = createError(
  'ACCOUNT_IN_USO', 'L’account ha invii ancora aperti (%s): prima attendere le ricevute, o deciderne', 409
)
export const AccountNonTrovato = createError(
  'ACCOUNT_NON_TROVATO', 'La struttura non ha un account della Polizia salvato qui', 404
)
export const CartellaNonScrivibile = createError(
  'CARTELLA_NON_SCRIVIBILE', 'Il server non può scrivere nella sua cartella dati', 503
)
export const InvioInCorso = createError(
  'INVIO_IN_CORSO', 'Prenotazioni con un invio alla Polizia ancora aperto: %s', 409
)
export const RicevutaNonTrovata = createError(
  'RICEVUTA_NON_TROVATA', 'Nessuna ricevuta per il giorno %s: %s', 404
)

export const InvioNonTrovato = createError(
  'INVIO_NON_TROVATO', 'Invio non trovato: prendere l’id dall’elenco (GET /api/v1/invii)', 404
)
export const InvioCambiato = createError(
  'INVIO_CAMBIATO', 'L’invio è cambiato nel frattempo: ora è alla versione %s, nello stato %s', 409
)
export const NullaDaDecidere = createError(
  'NULLA_DA_DECIDERE',
  'Si decide solo di un invio sconosciuto o da verificare, e si annulla uno pronto: questo è nello stato %s',
  409
)
export const DecisioneNonPossibile = createError('DECISIONE_NON_POSSIBILE', 'Decisione non possibile: %s', 409)
