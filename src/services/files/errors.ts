import createError from '@fastify/error'

export const ContenutoTroppoGrande = createError('CONTENUTO_TROPPO_GRANDE', 'Il file supera i %s byte ammessi', 413)
export const OggettoEsistente = createError('OGGETTO_ESISTENTE', 'C’è già un file con questo nome', 409)
export const BucketNonTrovato = createError('BUCKET_NON_TROVATO', 'Bucket non trovato', 404)
/** The file is altered or missing. */
export const FileIlleggibile = createError('FILE_ILLEGGIBILE', 'Il file archiviato è danneggiato o manca', 500)
export const ArchivioNonDisponibile = createError(
  'ARCHIVIO_NON_DISPONIBILE',
  'L’archivio dei file non è momentaneamente disponibile: riprovare fra poco',
  503
)
/** The disk has only its reserve left, which files may not use. */
export const ArchivioPieno = createError(
  'ARCHIVIO_PIENO',
  'Lo spazio per i file è finito: eliminarne alcuni, o ingrandire il disco del server',
  507
)
