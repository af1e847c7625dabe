import type { ApartmentBody } from '#schemas/apartment.ts'
import { ShapedError } from '#src/lib/errors.ts'
import { downloadTable } from './calls.ts'
import { ServizioNonRaggiungibile } from '../errors.ts'
import { ACCESS_REFUSED } from '../ledger/classify.ts'
import type { PoliceService } from './police-service.ts'
import type { EsitoOperazioneServizio } from './soap/contract.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from './soap/errors.ts'
import { parseTabella, TabellaError } from '../tables/csv.ts'
import type { Appartamento } from '../tables/types.ts'

/**
 * The service did not take it, in its own words; or nobody knows whether it did. Never a 5xx then: those are tried
 * again.
 */
export class AppartamentoRifiutato extends ShapedError {
  constructor (
    codice: 'APPARTAMENTO_RIFIUTATO' | 'ESITO_SCONOSCIUTO',
    error: string,
    dettagli: { codice_errore: string; messaggio_soap: string }
  ) {
    super(codice, 422, error, { dettagli })
  }
}

/** The apartments of the account that are in force. Empty for an account that manages none. */
export function listApartments (service: PoliceService): Promise<Appartamento[]> {
  return reached(async () => parseTabella('ListaAppartamenti', await downloadTable(service, 'ListaAppartamenti')))
}

/** @throws AppartamentoRifiutato, ServizioNonRaggiungibile */
export function addApartment (
  service: PoliceService,
  { descrizione, comune_codice, indirizzo, proprietario }: ApartmentBody
): Promise<void> {
  const apartment = {
    Descrizione: descrizione,
    ComuneCodice: comune_codice,
    Indirizzo: indirizzo,
    Proprietario: proprietario
  }
  return change(service, async (token) => {
    const { result } = await service.client.GestioneAppartamenti_AggiungiAppartamento({
      Utente: service.utente,
      token,
      ...apartment
    })
    return result.GestioneAppartamenti_AggiungiAppartamentoResult
  })
}

/**
 * Takes an apartment out of force, for good.
 * @throws AppartamentoRifiutato, ServizioNonRaggiungibile
 */
export function disableApartment (service: PoliceService, id: number): Promise<void> {
  return change(service, async (token) => {
    const { result } = await service.client.GestioneAppartamenti_DisabilitaAppartamento({
      Utente: service.utente,
      token,
      IdAppartamento: id
    })
    return result.GestioneAppartamenti_DisabilitaAppartamentoResult
  })
}

async function change (
  service: PoliceService,
  call: (token: string) => Promise<EsitoOperazioneServizio>
): Promise<void> {
  const token = await reached(() => service.token.get())
  const { esito, ErroreCod, ErroreDes, ErroreDettaglio } = await call(token).catch(doubted)
  if (esito) return
  if (ACCESS_REFUSED.test(ErroreDes)) service.token.invalidate(token)
  throw new AppartamentoRifiutato('APPARTAMENTO_RIFIUTATO', 'Il servizio ha rifiutato la richiesta', {
    codice_errore: ErroreCod,
    messaggio_soap: [ErroreDes, ErroreDettaglio].filter((text) => text !== '').join(': ')
  })
}

/** What only reads, or has not sent anything yet: a failure is the service's absence. */
async function reached<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const absent =
      err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError || err instanceof TabellaError
    throw absent ? new ServizioNonRaggiungibile() : err
  }
}

function doubted (err: unknown): never {
  if (!(err instanceof SoapTransportError)) throw err
  if (!err.sent) throw new ServizioNonRaggiungibile()
  throw new AppartamentoRifiutato(
    'ESITO_SCONOSCIUTO',
    "Nessuna risposta dal servizio: la richiesta può essere stata eseguita. Guardare l'elenco prima di ripeterla",
    {
      codice_errore: 'ESITO_SCONOSCIUTO',
      messaggio_soap: err.kind
    }
  )
}
