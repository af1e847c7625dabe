import type { Protocol } from './statuses.ts'

/* What an error looks like, by its status: one example for all operations whose errors have no shape of their own. */

const requestId = '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'

/** Codes and texts as the server answers them; a class of statuses shows one of its others. */
const OWN: Readonly<Record<string, readonly [codice: string, error: string, status?: number]>> = {
  400: ['RICHIESTA_NON_VALIDA', 'Richiesta non valida: nome: è obbligatorio'],
  401: ['NON_AUTENTICATO', 'Autenticazione mancante o non valida'],
  403: ['NON_AUTORIZZATO', 'Permessi insufficienti'],
  404: ['RISORSA_NON_TROVATA', 'Risorsa non trovata'],
  409: [
    'IDEMPOTENCY_KEY_IN_CORSO',
    'Una richiesta con la stessa Idempotency-Key è ancora in corso o è rimasta interrotta'
  ],
  410: ['CURSORE_SCADUTO', 'Il punto fin dove si era letto non è più conservato'],
  412: ['PRENOTAZIONE_MODIFICATA', 'La prenotazione è stata modificata nel frattempo'],
  413: ['CORPO_TROPPO_GRANDE', 'Il corpo della richiesta è troppo grande'],
  416: ['INTERVALLO_NON_VALIDO', 'L’intervallo di byte chiesto è oltre la fine del file'],
  422: ['IDEMPOTENCY_KEY_RIUSATA', 'Idempotency-Key già usata con una richiesta diversa'],
  429: ['TROPPE_RICHIESTE', 'Troppe richieste: riprovare fra 60 secondi'],
  500: ['ERRORE_INTERNO', 'Errore interno del server'],
  502: ['OCR_RISPOSTA_NON_VALIDA', 'Il provider OCR ha dato una risposta che non si può usare'],
  503: ['SERVIZIO_OCCUPATO', 'Servizio momentaneamente occupato: riprovare fra poco'],
  '4XX': ['TIPO_NON_SUPPORTATO', 'Content-Type non supportato: serve application/json', 415],
  '5XX': ['SERVIZIO_OCCUPATO', 'Servizio momentaneamente occupato: riprovare fra poco', 503]
}

const AUTH: Readonly<Record<string, readonly [error_code: string, msg: string, code?: number]>> = {
  400: ['validation_failed', 'body/email must be string'],
  401: ['no_authorization', 'This endpoint requires a valid Bearer token'],
  403: ['not_admin', 'User not allowed'],
  404: ['user_not_found', 'User not found'],
  429: ['over_request_rate_limit', 'Request rate limit reached'],
  500: ['unexpected_failure', 'Unexpected failure, please check server logs for more information'],
  '4XX': ['email_exists', 'A user with this email address has already been registered', 422],
  '5XX': ['unexpected_failure', 'Unexpected failure, please check server logs for more information', 503]
}

type StorageParts = readonly [code: string, error: string, message: string, statusCode?: string]
const STORAGE: Readonly<Record<string, StorageParts>> = {
  400: ['NoSuchKey', 'not_found', 'Object not found', '404'],
  401: ['AccessDenied', 'Unauthorized', 'Invalid Compact JWS'],
  403: ['AccessDenied', 'Unauthorized', 'Access denied'],
  416: ['InvalidRange', 'invalid_range', 'invalid range provided'],
  429: ['SlowDown', 'SlowDown', 'Too many requests, please try again later'],
  500: ['InternalError', 'Internal', 'Internal Server Error'],
  '4XX': ['InvalidRequest', 'InvalidRequest', 'Invalid Request', '400'],
  '5XX': ['SlowDown', 'SlowDown', 'The service is busy, please try again later', '503']
}

/** An error of this status, as this API or the protocol writes it. */
export function exampleOfError (status: string, protocol: Protocol | undefined): object {
  const byClass = `${status[0]}XX`
  if (protocol === 'auth') {
    const [error_code, msg, code = Number(status)] = AUTH[status] ?? AUTH[byClass]!
    return { code, error_code, msg }
  }
  if (protocol === 'storage') {
    const [code, error, message, statusCode = status] = STORAGE[status] ?? STORAGE[byClass]!
    return { statusCode, error, message, code }
  }
  const [codice, error, of = Number(status)] = OWN[status] ?? OWN[byClass]!
  const dettagli = of === 400 && [{ campo: 'nome', messaggio: 'è obbligatorio' }]
  return { error, status: of, codice, requestId, ...dettagli && { dettagli } }
}
