import { HeadFileError } from '#src/database/chain-head.ts'
import type { WatchContext } from '../context.ts'

/** Raises the alarm that the folder of data of this server takes no writes, if that is the error. */
export async function alarmFolder ({ alarm, name }: Pick<WatchContext, 'alarm' | 'name'>, err: unknown): Promise<void> {
  if (!(err instanceof HeadFileError)) return
  const { cause } = err
  // The code alone: the message of the system names paths.
  const errore = cause instanceof Error && 'code' in cause ? `codice ${String(cause.code)}` : undefined
  await alarm('unwritable-folder', { macchina: name.split('/')[0], errore })
}
