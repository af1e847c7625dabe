import type { Codice } from './types.ts'

/** The five guest types, as the service's `Tipi_Alloggiato` lists them. */
export const TIPI_ALLOGGIATO: readonly Codice[] = [
  { codice: '16', descrizione: 'OSPITE SINGOLO' },
  { codice: '17', descrizione: 'CAPO FAMIGLIA' },
  { codice: '18', descrizione: 'CAPO GRUPPO' },
  { codice: '19', descrizione: 'FAMILIARE' },
  { codice: '20', descrizione: 'MEMBRO GRUPPO' }
]
