import createError from '@fastify/error'

export const CursoreScaduto = createError(
  'CURSORE_SCADUTO',
  'L’evento di questo cursore non c’è più: rileggere i dati, e gli eventi dall’inizio',
  410
)
