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
