import createError from '@fastify/error'

export const CursoreScaduto = createError(
  'CURSORE_SCADUTO',
  'Il punto fin dove si era letto non è più conservato: rileggere i dati, e gli eventi dall’inizio',
  410
)
export const WebhookNonTrovato = createError('WEBHOOK_NON_TROVATO', 'Webhook non trovato', 404)
export const ConsegnaNonTrovata = createError('CONSEGNA_NON_TROVATA', 'Consegna non trovata', 404)
export const TroppiWebhook = createError('TROPPI_WEBHOOK', 'Ci sono già %s webhook: eliminarne uno', 409)
export const WebhookSospeso = createError('WEBHOOK_SOSPESO', 'Il webhook è sospeso: riattivarlo prima', 409)
