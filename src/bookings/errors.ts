import createError from '@fastify/error'

export const PrenotazioneNonTrovata = createError('PRENOTAZIONE_NON_TROVATA', 'Prenotazione non trovata', 404)
export const RicercaTroppoLunga = createError(
  'RICERCA_TROPPO_LUNGA',
  'La ricerca richiede troppo tempo: scrivere più lettere, o restringerla con altri filtri',
  503
)
export const PrenotazioneModificata = createError(
  'PRENOTAZIONE_MODIFICATA',
  'La prenotazione è stata modificata nel frattempo',
  412
)
export const UnitaNonTrovata = createError('UNITA_NON_TROVATA', 'Unità non trovata', 404)
export const StrutturaNonTrovata = createError('STRUTTURA_NON_TROVATA', 'Struttura non trovata', 404)
export const StrutturaInUso = createError('STRUTTURA_IN_USO', 'La struttura non si può eliminare: %s', 409)
export const StrutturaCambiata = createError(
  'STRUTTURA_CAMBIATA',
  'I dati della struttura sono stati cambiati nel frattempo',
  412
)
export const BloccoNonTrovato = createError('BLOCCO_NON_TROVATO', 'Blocco non trovato', 404)
export const UnitaOccupata = createError('UNITA_OCCUPATA', 'L’unità è occupata dal %s al %s %s', 409)
export const UnitaInUso = createError('UNITA_IN_USO', 'L’unità ha %s', 409)
export const NessunaUnitaLibera = createError(
  'NESSUNA_UNITA_LIBERA', 'Nessuna unità per %s è libera dal %s al %s', 409
)
