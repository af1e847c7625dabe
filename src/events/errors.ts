import createError from '@fastify/error'

export const CursoreScaduto = createError(
  'CURSORE_SCADUTO',
  'Il punto fin dove si era letto non è più conservato: rileggere i dati, e gli eventi dall’inizio',
  410
)
