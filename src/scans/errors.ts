import createError from '@fastify/error'

export const ScansioneNonTrovata = createError('SCANSIONE_NON_TROVATA', 'Scansione non trovata', 404)
/** The image shows no guest, so neither image nor guest is stored. */
export const DocumentoNonLetto = createError(
  'DOCUMENTO_NON_LETTO',
  'Nell’immagine non si legge un documento: fotografare di nuovo, o scrivere l’ospite a mano',
  422
)
