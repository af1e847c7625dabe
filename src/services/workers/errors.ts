import createError from '@fastify/error'
import { ServizioOccupato } from '#src/lib/errors.ts'

/** The task exceeded its deadline, so its thread was ended. */
export const LavoroTroppoLungo = createError(
  'LAVORO_TROPPO_LUNGO',
  'Il lavoro richiesto è troppo lungo per essere portato a termine',
  503
)

/** The thread ended during the task, for example because of its memory limit. */
export const LavoroNonRiuscito = createError(
  'LAVORO_NON_RIUSCITO',
  'Il lavoro richiesto è troppo grande per essere portato a termine',
  503
)

/** The caller cancelled the task, or its deadline was over while it was in the queue. The task did not start. */
export class LavoroNonIniziato extends ServizioOccupato {
  readonly transient = true
}
