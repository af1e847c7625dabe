import createError from '@fastify/error'

/** `%s` is the administrator's message. */
export const Manutenzione = createError('MANUTENZIONE', 'Servizio in manutenzione: %s', 503)
/** Refuses a Send by an administrator during maintenance, when only administrators have access. */
export const NessunNuovoInvio = createError(
  'MANUTENZIONE',
  'Durante la manutenzione non si inviano altre schedine, salvo l’eccezione «invii» (allow: ["invii"])',
  503
)
export const TroppeFunzioni = createError('TROPPE_FUNZIONI', 'Non si possono avere più di %s funzioni', 409)
