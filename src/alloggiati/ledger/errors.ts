import createError from '@fastify/error'

export const InvioNonTrovato = createError('INVIO_NON_TROVATO', 'Invio non trovato', 404)
export const InvioCambiato = createError(
  'INVIO_CAMBIATO',
  "L'invio è cambiato nel frattempo: ora è alla versione %s, nello stato %s",
  409
)
export const NullaDaDecidere = createError(
  'NULLA_DA_DECIDERE',
  'Si decide solo di un invio sconosciuto o da verificare: questo è nello stato %s',
  409
)
export const DecisioneNonPossibile = createError('DECISIONE_NON_POSSIBILE', 'Decisione non possibile: %s', 409)
