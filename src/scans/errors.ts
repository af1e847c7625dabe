import createError from '@fastify/error'

export const ScansioneNonTrovata = createError('SCANSIONE_NON_TROVATA', 'Scansione non trovata', 404)
