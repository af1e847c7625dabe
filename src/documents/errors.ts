import createError from '@fastify/error'

export const DocumentoNonTrovato = createError('DOCUMENTO_NON_TROVATO', 'Documento non trovato', 404)
