import createError from '@fastify/error'

/* Errors of an external engine. They never contain the engine's message, which may repeat data of the document. */

export const MotorePdfIrraggiungibile = createError(
  'MOTORE_PDF_IRRAGGIUNGIBILE', 'Il motore PDF esterno non è raggiungibile: riprovare più tardi', 503
)
export const MotorePdfOccupato = createError(
  'MOTORE_PDF_OCCUPATO', 'Il motore PDF esterno ha troppe richieste: riprovare fra poco', 503
)
export const MotorePdfTroppoLento = createError(
  'MOTORE_PDF_TROPPO_LENTO',
  'Il motore PDF esterno non ha risposto in tempo: il documento potrebbe essere stato creato e addebitato',
  503
)
export const MotorePdfRifiuta = createError(
  'MOTORE_PDF_RIFIUTA', 'Il motore PDF esterno ha rifiutato il documento (%s)', 502
)
export const MotorePdfIncomprensibile = createError(
  'MOTORE_PDF_INCOMPRENSIBILE', 'La risposta del motore PDF esterno non è utilizzabile', 502
)
