import createError from '@fastify/error'
import { ServizioOccupato } from '#src/lib/errors.ts'

/** The work took longer than it may; its thread is ended. */
export const LavoroTroppoLungo = createError(
  'LAVORO_TROPPO_LUNGO',
  'Il lavoro richiesto è troppo lungo per essere portato a termine',
  503
)

/** The thread ended in the middle of the work, as by its limit of memory. */
export const LavoroNonRiuscito = createError(
  'LAVORO_NON_RIUSCITO',
  'Il lavoro richiesto è troppo grande per essere portato a termine',
  503
)

/** Nobody waits for the work any more, or its turn did not come in time: nothing was done. */
export class LavoroNonIniziato extends ServizioOccupato {
  readonly transient = true
}
