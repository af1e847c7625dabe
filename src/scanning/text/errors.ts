import createError from '@fastify/error'

/** The provider is unreachable, did not respond in time, or failed. */
export const OcrNonDisponibile = createError(
  'OCR_NON_DISPONIBILE',
  'Il provider OCR non risponde: riprovare fra poco, o con solo_mrz',
  503
)
/** The provider's quota is exhausted. */
export const OcrQuotaEsaurita = createError(
  'OCR_QUOTA_ESAURITA',
  'Il provider OCR non accetta altre immagini per ora: riprovare più tardi, o con solo_mrz',
  503
)
/** The provider rejects the API key. */
export const OcrCredenzialiRifiutate = createError(
  'OCR_CREDENZIALI_RIFIUTATE',
  'Il provider OCR rifiuta la chiave di questo server (OCR_PROVIDER_KEY)',
  502
)
/** The provider's response is malformed, or the provider could not read a valid image. */
export const OcrRispostaNonValida = createError(
  'OCR_RISPOSTA_NON_VALIDA',
  'Il provider OCR ha dato una risposta che non si può usare',
  502
)
/** The image exceeds the provider's size limit, so a retry would fail too. */
export const OcrImmagineTroppoGrande = createError(
  'OCR_IMMAGINE_TROPPO_GRANDE',
  'L’immagine è troppo grande per il provider OCR: ridurla, o leggere con solo_mrz',
  413
)
