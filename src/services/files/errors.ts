import createError from '@fastify/error'

export const ContenutoTroppoGrande = createError('CONTENUTO_TROPPO_GRANDE', 'Il file supera i %s byte ammessi', 413)
export const OggettoEsistente = createError('OGGETTO_ESISTENTE', 'C’è già un file con questo nome', 409)
export const BucketNonTrovato = createError('BUCKET_NON_TROVATO', 'Bucket non trovato', 404)
/** The file is missing or was altered. */
export const FileIlleggibile = createError('FILE_ILLEGGIBILE', 'Il file archiviato è danneggiato o manca', 500)
export const ArchivioNonDisponibile = createError(
  'ARCHIVIO_NON_DISPONIBILE',
  'L’archivio dei file non è momentaneamente disponibile: riprovare fra poco',
  503
)
/** Only the reserve of the disk is free, and files must not use it. */
export const ArchivioPieno = createError(
  'ARCHIVIO_PIENO',
  'Lo spazio per i file è finito: eliminarne alcuni, o ingrandire il disco del server',
  507
)
