import type { Day } from '#src/lib/time.ts'
import type { Accepted } from './accept.ts'

/** A file as the portal takes it, and as it goes by certified mail when the portal is down. */
export interface Filing {
  /** The arrival that it is about. */
  data: Day
  /** Lines with CRLF between them and none at the end, without byte order mark (guide, p. 31 and 33). */
  text: string
}

/** Accepted records as a file: lines of 168 characters, of 174 where the stay names an apartment. */
export function filing ({ records, lines }: Accepted): Filing {
  return { data: records[0]!.data_arrivo, text: lines.join('\r\n') }
}
