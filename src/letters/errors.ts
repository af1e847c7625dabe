import createError from '@fastify/error'

export const LetteraNonTrovata = createError('LETTERA_NON_TROVATA', 'Lettera di benvenuto non trovata', 404)
export const LetteraEsistente = createError(
  'LETTERA_ESISTENTE',
  'La prenotazione ha già una lettera di benvenuto: si elimina, poi se ne crea un’altra',
  409
)
export const LogoNonTrovato = createError('LOGO_NON_TROVATO', 'La struttura non ha un logo', 404)
