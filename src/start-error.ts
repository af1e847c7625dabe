import { isDiskFull, startProblem } from './database/problems.ts'
import { EmbeddedError } from './database/embedded/embedded-error.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import { serializeError } from './http/logging.ts'

/** Messages of PostgreSQL and initdb about a full disk. */
const NO_ROOM = /No space left on device|disk is full/i

/** The reason why the server cannot start, as one line for the operator. */
export function startError (err: unknown): string {
  if (err instanceof ConfigError) return err.message
  const text = err instanceof Error ? err.message : ''
  if (isDiskFull(err) || NO_ROOM.test(text)) return 'DATA_DIR: il disco è pieno'
  if (err instanceof EmbeddedError) return err.message
  const { type, message, stack } = serializeError(err)
  const known = startProblem(err)
  if (known !== undefined) return known
  const place = /\(?(?:file:\/\/)?[^\s()]*\/(src\/[^\s()]+)\)?/.exec(stack)?.[1]
  return `errore imprevisto: ${type} ${message}`.replaceAll(/\s+/g, ' ') + (place === undefined ? '' : ` (${place})`)
}
