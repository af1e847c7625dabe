import createError from '@fastify/error'

export const ScollegamentoNonAmmesso = createError(
  'SCOLLEGAMENTO_NON_AMMESSO', 'Il provider di identità esterno non permette di scollegare un accesso', 403
)
