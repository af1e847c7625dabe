import createError from '@fastify/error'

export const LavoroNonTrovato = createError('LAVORO_NON_TROVATO', 'Lavoro non trovato', 404)
export const LavoroInCorso = createError('LAVORO_IN_CORSO', 'Il lavoro è già in corso', 409)
