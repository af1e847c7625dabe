import createError from '@fastify/error'
import { LIMIT_WORDS } from './image-limits.ts'

export const ImmagineTroppoGrande = createError(
  'IMMAGINE_TROPPO_GRANDE', `L’immagine è di %s × %s pixel: al massimo ${LIMIT_WORDS}`, 413
)
