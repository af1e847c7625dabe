import type { Day } from '#src/lib/time.ts'
import type { TipoTabella } from '../../tables/tabella.ts'

/*
 * Handwritten types of the called operations of service.wsdl. Requests omit the by-ref parameters (`result`, `CSV`,
 * `PDF`), like the official examples. In responses, empty or missing text is '', and a missing list is empty.
 */

export interface EsitoOperazioneServizio {
  /** Whether the call or the row succeeded. A successful call may contain failed rows. */
  esito: boolean
  ErroreCod: string
  ErroreDes: string
  ErroreDettaglio: string
}

export interface ElencoSchedineEsito {
  SchedineValide: number
  /** The outcome of each sent row, in the same order. */
  Dettaglio: EsitoOperazioneServizio[]
}

export interface TokenInfo { issued: Date, expires: Date, token: string }

interface Accesso { Utente: string, token: string }

interface RichiestaToken { Utente: string, Password: string, WsKey: string }

export interface RichiestaSchedine extends Accesso {
  /** Rows of 168 characters (174 for the `FileUnico` operations), sent byte for byte. */
  ElencoSchedine: { string: readonly string[] }
}

interface RichiestaRicevuta extends Accesso {
  /** Sent as midnight of that day without offset, as the service requires. */
  Data: Day
}

interface RichiestaAppartamento extends Accesso {
  Descrizione: string
  ComuneCodice: string
  Indirizzo: string
  Proprietario: string
}

/** The outcome of the call under `<Operation>Result`. */
type Esito<Name extends string> = { [Key in `${Name}Result`]: EsitoOperazioneServizio }
type EsitoSchedine<Name extends string> = Esito<Name> & { result?: ElencoSchedineEsito }

export interface Requests {
  GenerateToken: RichiestaToken
  Authentication_Test: Accesso
  Test: RichiestaSchedine
  Send: RichiestaSchedine
  GestioneAppartamenti_FileUnico_Test: RichiestaSchedine
  GestioneAppartamenti_FileUnico_Send: RichiestaSchedine
  Tabella: Accesso & { tipo: TipoTabella }
  Ricevuta: RichiestaRicevuta
  GestioneAppartamenti_AggiungiAppartamento: RichiestaAppartamento
  GestioneAppartamenti_DisabilitaAppartamento: Accesso & { IdAppartamento: number }
}

export interface Responses {
  GenerateToken: { GenerateTokenResult?: TokenInfo, result: EsitoOperazioneServizio }
  Authentication_Test: Esito<'Authentication_Test'>
  Test: EsitoSchedine<'Test'>
  Send: EsitoSchedine<'Send'>
  GestioneAppartamenti_FileUnico_Test: EsitoSchedine<'GestioneAppartamenti_FileUnico_Test'>
  GestioneAppartamenti_FileUnico_Send: EsitoSchedine<'GestioneAppartamenti_FileUnico_Send'>
  Tabella: Esito<'Tabella'> & { CSV: string }
  Ricevuta: Esito<'Ricevuta'> & { PDF?: Buffer }
  GestioneAppartamenti_AggiungiAppartamento: Esito<'GestioneAppartamenti_AggiungiAppartamento'>
  GestioneAppartamenti_DisabilitaAppartamento: Esito<'GestioneAppartamenti_DisabilitaAppartamento'>
}

export type Operation = keyof Requests
