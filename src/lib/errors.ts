import createError from '@fastify/error'
import type { FieldError } from '#schemas/common.ts'
import { isDay } from './time.ts'

/**
 * Catalogue of the errors that the API returns deliberately, each with a stable code, an Italian text and a status.
 * Handlers throw them, and `http/errors.ts` renders them.
 */
const RichiestaNonValida = createError('RICHIESTA_NON_VALIDA', 'Richiesta non valida: %s', 400)
export const NonAutenticato = createError('NON_AUTENTICATO', 'Autenticazione mancante o non valida', 401)
export const NonAutorizzato = createError('NON_AUTORIZZATO', 'Permessi insufficienti', 403)
export const AmbitoInsufficiente = createError('AMBITO_INSUFFICIENTE', 'Questa chiave non è abilitata a «%s»', 403)
export const ServeUnaPersona = createError(
  'SERVE_UNA_PERSONA',
  'Serve l’accesso di una persona: una chiave API non basta',
  403
)
export const AccountInAttesa = createError(
  'ACCOUNT_IN_ATTESA',
  'L’account è in attesa che un amministratore gli assegni un ruolo',
  403
)
export const SecondoFattoreRichiesto = createError(
  'SECONDO_FATTORE_RICHIESTO',
  'Per continuare serve il secondo fattore: confermare l’accesso con un codice',
  403
)
export const SecondoFattoreDaRegistrare = createError(
  'SECONDO_FATTORE_DA_REGISTRARE',
  'Questo account deve avere un secondo fattore: registrarne uno per continuare',
  403
)
export const PasswordDaCambiare = createError(
  'PASSWORD_DA_CAMBIARE',
  'Per continuare va sostituita la password che il server ha mostrato: nelle pagine /auth/, o con PUT /auth/v1/user',
  403
)
export const SecondoFattoreRecente = createError(
  'SECONDO_FATTORE_RECENTE',
  'Questa azione vuole un secondo fattore confermato da meno di 15 minuti: confermarlo, o registrarne uno se manca',
  403
)
export const RisorsaNonTrovata = createError('RISORSA_NON_TROVATA', 'Risorsa non trovata', 404)
export const MetodoNonAmmesso = createError('METODO_NON_AMMESSO', 'Metodo non ammesso per questa risorsa', 405)
export const TroppeRichieste = createError('TROPPE_RICHIESTE', 'Troppe richieste: riprovare fra %s secondi', 429)
export const RegistroNonDisponibile = createError(
  'REGISTRO_NON_DISPONIBILE',
  'Il registro delle azioni non è scrivibile: la richiesta non è stata eseguita',
  503
)
export const ServizioOccupato = createError(
  'SERVIZIO_OCCUPATO',
  'Servizio momentaneamente occupato: riprovare fra poco',
  503
)
export const SpazioEsaurito = createError(
  'SPAZIO_ESAURITO',
  'Lo spazio sul disco del server è finito: non si può scrivere nulla finché non se ne libera',
  503
)
export const PostaNonConfigurata = createError(
  'POSTA_NON_CONFIGURATA',
  'L’invio di e-mail non è configurato su questo server',
  503
)

/** A 400 that lists the invalid fields. */
export class CampiNonValidi extends RichiestaNonValida {
  readonly dettagli: FieldError[]
  constructor (...dettagli: FieldError[]) {
    super(describeFields(dettagli))
    this.dettagli = dettagli
  }
}

const NON_UTF8 = createError('CORPO_NON_UTF8', 'Il corpo ha byte che non sono UTF-8: inviare il testo in UTF-8', 400)

/** A body contains bytes that are not UTF-8. Decoding would replace them with other characters. */
export class CorpoNonUtf8 extends NON_UTF8 {
  readonly dettagli: FieldError[]
  /** @param campo the field of a form, or '' for the body */
  constructor (campo = '') {
    super()
    this.dettagli = [{ campo, messaggio: 'non è in UTF-8: inviare il testo in UTF-8' }]
  }
}

export const LAST_BEFORE_FIRST: FieldError = { campo: 'a', messaggio: 'deve essere uguale o dopo da' }

/**
 * Validation error of a range whose last day precedes its first. Such a range is empty, and an empty response would be
 * misleading. Invalid days are ignored.
 */
export function orderOfDaysErrors ({ da, a }: Readonly<Record<string, unknown>>): FieldError[] {
  if (typeof da !== 'string' || typeof a !== 'string' || !isDay(da) || !isDay(a) || da <= a) return []
  return [LAST_BEFORE_FIRST]
}

/** Describes invalid fields in one sentence. An empty name means the body. */
export function describeFields (dettagli: readonly FieldError[]): string {
  return dettagli.map(({ campo, messaggio }) => `${campo || 'il corpo'} ${messaggio}`).join('; ')
}

/** An error with additional body fields. */
export class ShapedError extends Error {
  readonly code: string
  readonly statusCode: number
  readonly body: Record<string, unknown>
  /** Whether the request changed no data, and a retry may succeed. */
  readonly transient: boolean
  constructor (code: string, statusCode: number, message: string, body: Record<string, unknown>, transient = false) {
    super(message)
    this.code = code
    this.statusCode = statusCode
    this.body = body
    this.transient = transient
  }
}
