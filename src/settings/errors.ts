import createError from '@fastify/error'

/** `%s`: what the administrator who switched it on has to say. */
export const Manutenzione = createError('MANUTENZIONE', 'Servizio in manutenzione: %s', 503)
/** For administrators, whom a maintenance lets in. */
export const NessunNuovoInvio = createError(
  'MANUTENZIONE',
  'Durante la manutenzione non si inviano altre schedine, a meno che non sia consentito per nome (allow: ["invii"])',
  503
)
export const TroppeFunzioni = createError('TROPPE_FUNZIONI', 'Non si possono avere più di %s funzioni', 409)
