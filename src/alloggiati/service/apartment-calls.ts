import type { Static } from '@sinclair/typebox'
import type { Apartment, ApartmentBody } from '#schemas/apartment.ts'
import { ShapedError } from '#src/lib/errors.ts'
import { ServizioNonRaggiungibile } from '../errors.ts'
import { parseApartments, TabellaError } from '../tables/tabella.ts'
import { downloadTable, forgetRefused } from './calls.ts'
import type { PoliceService } from './police-service.ts'
import type { EsitoOperazioneServizio } from './soap/contract.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from './soap/errors.ts'

/**
 * The service refused the change, in its own words; or its answer is missing, and the change may have been made. Never
 * a 5xx: clients try those again.
 */
class AppartamentoRifiutato extends ShapedError {
  constructor (
    codice: 'APPARTAMENTO_RIFIUTATO' | 'ESITO_SCONOSCIUTO',
    error: string,
    dettagli: { codice_errore: string; messaggio_soap: string }
  ) {
    super(codice, 422, error, { dettagli })
  }
}

/** The apartments of the account that are in force. Empty for an account that manages none. */
export function listApartments (service: PoliceService): Promise<Static<typeof Apartment>[]> {
  return orUnreachable(async () => {
    return parseApartments(await downloadTable(service, 'ListaAppartamenti', service.answerDeadline()))
  })
}

/** @throws AppartamentoRifiutato, ServizioNonRaggiungibile */
export function addApartment (
  service: PoliceService, { descrizione, comune_codice, indirizzo, proprietario }: ApartmentBody
): Promise<void> {
  const apartment = {
    Descrizione: descrizione,
    ComuneCodice: comune_codice,
    Indirizzo: indirizzo,
    Proprietario: proprietario
  }
  return changeApartments(service, async (token, signal) => {
    const { result } = await service.client.GestioneAppartamenti_AggiungiAppartamento(
      { Utente: service.utente, token, ...apartment }, { signal }
    )
    return result.GestioneAppartamenti_AggiungiAppartamentoResult
  })
}

/**
 * Takes an apartment out of force, for good.
 * @throws AppartamentoRifiutato, ServizioNonRaggiungibile
 */
export function disableApartment (service: PoliceService, id: number): Promise<void> {
  return changeApartments(service, async (token, signal) => {
    const { result } = await service.client.GestioneAppartamenti_DisabilitaAppartamento(
      { Utente: service.utente, token, IdAppartamento: id }, { signal }
    )
    return result.GestioneAppartamenti_DisabilitaAppartamentoResult
  })
}

async function changeApartments (
  service: PoliceService, call: (token: string, signal: AbortSignal) => Promise<EsitoOperazioneServizio>
): Promise<void> {
  const signal = service.answerDeadline()
  const token = await orUnreachable(() => service.token.get(signal))
  const outcome = await call(token, signal).catch(refuseOrDoubt)
  if (outcome.esito) return
  forgetRefused(service, token, outcome)
  throw new AppartamentoRifiutato('APPARTAMENTO_RIFIUTATO', 'Il servizio ha rifiutato la richiesta', {
    codice_errore: outcome.ErroreCod,
    messaggio_soap: [outcome.ErroreDes, outcome.ErroreDettaglio].filter((text) => text !== '').join(': ')
  })
}

/** Work that only reads, or has sent nothing yet: its failure says that the service cannot be reached. */
async function orUnreachable<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const absent =
      err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError || err instanceof TabellaError
    throw absent ? new ServizioNonRaggiungibile() : err
  }
}

/** A change without an answer: it may have been made unless nothing was sent. */
function refuseOrDoubt (err: unknown): never {
  if (!(err instanceof SoapTransportError)) throw err
  if (!err.sent) throw new ServizioNonRaggiungibile()
  throw new AppartamentoRifiutato(
    'ESITO_SCONOSCIUTO',
    "Nessuna risposta dal servizio: la richiesta può essere stata eseguita. Guardare l'elenco prima di ripeterla",
    { codice_errore: 'ESITO_SCONOSCIUTO', messaggio_soap: err.kind }
  )
}
