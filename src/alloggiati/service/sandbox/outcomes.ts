import type { Message } from './message.ts'

/**
 * `EsitoOperazioneServizio` as the service writes it: all four elements always, empty ones where there is nothing to
 * say.
 */
export interface ServiceOutcome extends Message {
  esito: boolean
  ErroreCod: string
  ErroreDes: string
  ErroreDettaglio: string
}

/**
 * Codes and names of errors. 11 and 12 are the manual's (p. 9); ERRORE_RECUPERO_RICEVUTA and ERRORE_PARAMETRO_ERRATO
 * were seen on the live service, the first with the number 51 by hearsay. The rest is the sandbox's own choice: the
 * service's table of errors is not public, and a client must not depend on these numbers.
 */
export const ERRORS = {
  credentials: { code: '100', name: 'AUTENTICAZIONE_FALLITA' },
  token: { code: '101', name: 'TOKEN_NON_VALIDO' },
  format: { code: '11', name: 'SCHEDINA_FORMATO_NON_CORRETTO' },
  field: { code: '12', name: 'SCHEDINA_CAMPO_NON_CORRETTO' },
  parameter: { code: '30', name: 'ERRORE_PARAMETRO_ERRATO' },
  receipt: { code: '51', name: 'ERRORE_RECUPERO_RICEVUTA' }
} as const

export const DONE: ServiceOutcome = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }

export function refused (error: keyof typeof ERRORS, detail: string): ServiceOutcome {
  const { code, name } = ERRORS[error]
  return { esito: false, ErroreCod: code, ErroreDes: name, ErroreDettaglio: detail }
}
