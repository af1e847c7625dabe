import createError from '@fastify/error'

export const FileNonTrovato = createError('FILE_NON_TROVATO', 'File non trovato', 404)
