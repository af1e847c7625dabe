import createError from '@fastify/error'

export const PdfNonTrovato = createError('PDF_NON_TROVATO', 'PDF non trovato', 404)
export const ModelloNonTrovato = createError('MODELLO_NON_TROVATO', 'Modello non trovato', 404)
export const VersioneNonTrovata = createError('VERSIONE_NON_TROVATA', 'Versione del modello non trovata', 404)
export const ModelloPredefinito = createError(
  'MODELLO_PREDEFINITO',
  'Un modello predefinito non si può cambiare: se ne può salvare una copia con un altro id',
  409
)
export const ModelloCambiato = createError('MODELLO_CAMBIATO', 'Il modello è stato cambiato nel frattempo', 412)
export const PdfDiLettera = createError(
  'PDF_DI_LETTERA',
  'È il PDF di una lettera di benvenuto: si elimina con la lettera',
  409
)
