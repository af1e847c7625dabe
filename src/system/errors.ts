import createError from '@fastify/error'

/** `%s`: what the administrator who switched it on has to say. */
export const Manutenzione = createError('MANUTENZIONE', '%s', 503)
