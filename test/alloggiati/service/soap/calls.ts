import type { Operation } from '#src/alloggiati/service/soap/contract.ts'
import type { Reply, SoapClient } from '#src/alloggiati/service/soap/soap-client.ts'
import type { CallOptions } from '#src/alloggiati/service/soap/soap-transport.ts'
import { envelope } from './xml.ts'

const access = { Utente: 'RM000001', token: 'gettone' }
const rows = { ...access, ElencoSchedine: { string: ['prima riga', 'seconda riga'] } }

/** One call of each operation with invented values. */
export const CALLS: { [Name in Operation]: (client: SoapClient, options?: CallOptions) => Promise<Reply<object>> } = {
  GenerateToken: (client, options) =>
    client.GenerateToken({ Utente: 'RM000001', Password: 'segreta', WsKey: 'chiave' }, options),
  Authentication_Test: (client, options) => client.Authentication_Test(access, options),
  Test: (client, options) => client.Test(rows, options),
  Send: (client, options) => client.Send(rows, options),
  GestioneAppartamenti_FileUnico_Test: (client, options) => client.GestioneAppartamenti_FileUnico_Test(rows, options),
  GestioneAppartamenti_FileUnico_Send: (client, options) => client.GestioneAppartamenti_FileUnico_Send(rows, options),
  Tabella: (client, options) => client.Tabella({ ...access, tipo: 'ListaAppartamenti' }, options),
  Ricevuta: (client, options) => client.Ricevuta({ ...access, Data: '2026-03-29' }, options),
  GestioneAppartamenti_AggiungiAppartamento: (client, options) =>
    client.GestioneAppartamenti_AggiungiAppartamento(
      {
        ...access,
        Descrizione: 'Casa & bottega',
        ComuneCodice: '412058091',
        Indirizzo: "Via dell'Esempio 1",
        Proprietario: 'PROVA'
      },
      options
    ),
  GestioneAppartamenti_DisabilitaAppartamento: (client, options) =>
    client.GestioneAppartamenti_DisabilitaAppartamento({ ...access, IdAppartamento: 7 }, options)
}

/** The error with which a call rejects. */
export async function failureOf (call: Promise<unknown>): Promise<unknown> {
  return await call.then(() => { throw new Error('the call resolved') }, (error: unknown) => error)
}

/** The response of an operation that succeeds. */
export function plainResponse (operation: string): string {
  const outcome = '<esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/>'
  const result =
    operation === 'GenerateToken'
      ? '<GenerateTokenResult><issued>2026-01-01T10:00:00+01:00</issued>' +
        '<expires>2026-01-01T11:00:00+01:00</expires><token>gettone</token></GenerateTokenResult>' +
        `<result>${outcome}</result>`
      : `<${operation}Result>${outcome}</${operation}Result>`
  return envelope(`<${operation}Response xmlns="AlloggiatiService">${result}</${operation}Response>`)
}
