import type { Static } from '@sinclair/typebox'
import type { Apartment, ApartmentBody } from '#schemas/apartment.ts'
import { parseApartments } from '../tables/tabella.ts'
import { downloadTable, refuseToken } from './calls.ts'
import { orFault, PoliceFault } from './police-faults.ts'
import type { PoliceService } from './police-service.ts'
import type { EsitoOperazioneServizio } from './soap/contract.ts'

/**
 * The active apartments of the account. Empty for an account without apartment management.
 * @throws PoliceFault
 */
export function listApartments (service: PoliceService): Promise<Static<typeof Apartment>[]> {
  return orFault(async () => {
    return parseApartments(await downloadTable(service, 'ListaAppartamenti', service.responseDeadline()))
  })
}

/** @throws PoliceFault */
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
 * @throws PoliceFault
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
  const signal = service.responseDeadline()
  const token = await orFault(() => service.token.get(signal))
  const outcome = await orFault(() => call(token, signal), true)
  if (outcome.esito) return
  await orFault(async () => refuseToken(service, token, outcome))
  throw new PoliceFault('refused', {
    codice_errore: outcome.ErroreCod,
    messaggio_soap: [outcome.ErroreDes, outcome.ErroreDettaglio].filter((text) => text !== '').join(': ')
  })
}
