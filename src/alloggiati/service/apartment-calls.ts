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
 * The service refused the change, or its answer is missing and the change may have been made. Never a 5xx, because
 * clients retry those.
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

/** The active apartments of the account. Empty for an account without apartment management. */
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
 * Disables an apartment permanently.
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

/** Wraps work that only reads, or has sent nothing yet: a failure means that the service is unreachable. */
async function orUnreachable<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const absent =
      err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError || err instanceof TabellaError
    throw absent ? new ServizioNonRaggiungibile() : err
  }
}

/** Handles a change without an answer: it may have been made, unless nothing was sent. */
function refuseOrDoubt (err: unknown): never {
  if (!(err instanceof SoapTransportError)) throw err
  if (!err.sent) throw new ServizioNonRaggiungibile()
  throw new AppartamentoRifiutato(
    'ESITO_SCONOSCIUTO',
    "Nessuna risposta dal servizio: la richiesta può essere stata eseguita. Guardare l'elenco prima di ripeterla",
    { codice_errore: 'ESITO_SCONOSCIUTO', messaggio_soap: err.kind }
  )
}
