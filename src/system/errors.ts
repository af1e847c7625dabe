import createError from '@fastify/error'

export const LavoroNonTrovato = createError('LAVORO_NON_TROVATO', 'Lavoro non trovato', 404)
export const LavoroInCorso = createError('LAVORO_IN_CORSO', 'Il lavoro è già in corso', 409)

/** `%s`: what the administrator who switched it on has to say. */
export const Manutenzione = createError('MANUTENZIONE', '%s', 503)
/** For administrators, whom a maintenance lets in. */
export const NessunNuovoInvio = createError(
  'MANUTENZIONE',
  'Durante la manutenzione non si inviano altre schedine, a meno che un amministratore non lo consenta',
  503
)
export const TroppeFunzioni = createError('TROPPE_FUNZIONI', 'Non si possono avere più di %s funzioni', 409)
