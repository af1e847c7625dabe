import createError from '@fastify/error'

/** The provider could not be reached, gave no answer in time, or failed itself. */
export const OcrNonDisponibile = createError(
  'OCR_NON_DISPONIBILE',
  'Il provider OCR non risponde: riprovare fra poco, o con solo_mrz',
  503
)
/** The provider refuses further pictures for some time. */
export const OcrQuotaEsaurita = createError(
  'OCR_QUOTA_ESAURITA',
  'Il provider OCR non accetta altre immagini per ora: riprovare più tardi, o con solo_mrz',
  503
)
/** The provider does not take our key. */
export const OcrCredenzialiRifiutate = createError(
  'OCR_CREDENZIALI_RIFIUTATE',
  'Il provider OCR rifiuta la chiave di questo server (OCR_PROVIDER_KEY)',
  502
)
/** The provider answers in a way that is not its own, or does not read a picture that is sound. */
export const OcrRispostaNonValida = createError(
  'OCR_RISPOSTA_NON_VALIDA',
  'Il provider OCR ha dato una risposta che non si può usare',
  502
)
/** The provider takes pictures of fewer bytes: the same one is refused at every attempt. */
export const OcrImmagineTroppoGrande = createError(
  'OCR_IMMAGINE_TROPPO_GRANDE',
  'L’immagine è troppo grande per il provider OCR: ridurla, o leggere con solo_mrz',
  413
)
